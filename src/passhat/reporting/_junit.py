"""The report as JUnit XML, which most CI servers show."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from passhat.reporting._text import clean_block, rate, span
from passhat.summary import ExitCode, GateRow, Report, TaskRow

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(report: Report) -> str:
    """One test case a gate and one a task. What is red is what makes the exit code other than 0, and nothing else.

    A task is never red: a rate isn't a verdict, the gates are. A task without any verdict is an error where that makes
    the run incomplete. An undecided gate is red when the policy says that undecided fails, otherwise skipped.
    """
    suite = ET.Element("testsuite", name=_xml(report.run.suite))
    if report.run.started:
        suite.set("timestamp", _xml(report.run.started))
    properties = ET.SubElement(suite, "properties")
    for name, value in _facts(report).items():
        ET.SubElement(properties, "property", name=name, value=_xml(value))
    for gate in report.gates:
        _gate(suite, report, gate)
    if report.exit_code == ExitCode.INCOMPLETE and not any(gate.verdict == "incomplete" for gate in report.gates):
        case = _case(suite, report, "run", "complete")
        message = report.exit_reason
        if report.trials.missing:
            message += f" ({report.trials.missing} of {report.trials.planned} trials have no verdict)"
        ET.SubElement(case, "error", message=message, type="incomplete")
    for row in report.by_task:
        _task(suite, report, row)
    cases = suite.findall("testcase")
    for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(kind) is not None for case in cases)))
    suite.set("tests", str(len(cases)))
    suite.set("time", f"{report.usage.seconds or 0:.3f}")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _facts(report: Report) -> dict[str, str]:
    facts = {"title": report.title, "run": report.run.run_id, "asked": report.asked, "source": report.model_source}
    for hat, name in ((False, "pass@"), (True, "pass^")):
        for row in report.pass_hat if hat else report.pass_at:
            facts[f"{name}{row.k}"] = f"{rate(row.estimate)} these tasks {span(row.these_tasks)}"
    for finding in report.findings:
        if finding.severity != "note":
            facts.setdefault(f"finding.{finding.rule}", finding.message)
    return facts


def _case(suite: ET.Element, report: Report, group: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=f"{_xml(report.run.suite)}.{group}", name=_xml(name), time="0")


def _gate(suite: ET.Element, report: Report, gate: GateRow) -> None:
    case = _case(suite, report, "gates", gate.label)
    message = _xml(gate.message)
    if gate.verdict == "not met":
        ET.SubElement(case, "failure", message=message, type="gate not met")
    elif gate.verdict == "incomplete":
        ET.SubElement(case, "error", message=message, type="incomplete")
    elif gate.verdict == "undecided":
        ET.SubElement(case, "failure" if report.undecided == "fail" else "skipped", message=message, type="undecided")
    else:
        ET.SubElement(case, "system-out").text = message


def _task(suite: ET.Element, report: Report, row: TaskRow) -> None:
    case = _case(suite, report, "tasks", row.task)
    case.set("time", f"{row.seconds or 0:.3f}")
    text = f"{row.verdict}: {row.c} of {row.n} trials passed"
    if row.interval is not None:
        text += f", interval {span(row.interval, 2)}"
    if row.missing:
        text += f", {row.missing} missing"
    if row.verdict == "untested":
        tag = "error" if report.exit_code == ExitCode.INCOMPLETE else "skipped"
        ET.SubElement(case, tag, message="no trial has a verdict", type="untested")
    ET.SubElement(case, "system-out").text = text


def _xml(text: str) -> str:
    """Text that XML can hold and a terminal can show."""
    return _NOT_XML.sub("?", clean_block(text, 2_000))
