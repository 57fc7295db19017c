# tests/e2e/openapi_checker.py -- holds requests and answers of a node against
# its OpenAPI document, and notes what of the document they have shown.
import json
import re
from datetime import date, datetime
from urllib.parse import quote, urlencode
from uuid import UUID

from jsonschema import Draft202012Validator, FormatChecker

METHODS = ("get", "post", "put", "delete", "patch")

# What is not named here is not checked. jsonschema's own checks of times and
# addresses need packages that Debian 12 does not have, and pass all without.
FORMATS = FormatChecker(formats=())


class Checker:
    """One for all nodes of a test program."""

    def __init__(self, document: dict):
        self.document = document
        self.operations = {}
        for path, item in document["paths"].items():
            for method, operation in item.items():
                assert method in METHODS, method
                self.operations[operation["operationId"]] = (
                    method.upper(), path, operation)
        self.shown: set[str] = set()

    # -- the document -------------------------------------------------------

    def resolve(self, x: dict) -> tuple[dict, str | None]:
        """What a reference stands for, and where it is."""
        place = None
        while "$ref" in x:
            place = x["$ref"]
            found = self.document
            for part in place.removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            x = found
        return x, place

    def closed(self, schema: dict, place: str) -> dict:
        """The schema without references, objects without any member that is
        not named; `at` of a member is where the document names it."""
        schema, found_at = self.resolve(schema)
        place = found_at or place
        if "allOf" in schema:
            result = {"type": "object", "required": [], "properties": {},
                      "additionalProperties": False}
            for number, part in enumerate(schema["allOf"]):
                part = self.closed(part, f"{place}/allOf/{number}")
                result["required"] += part.get("required", [])
                result["properties"].update(part["properties"])
            return result
        result = dict(schema)
        for word in ("oneOf", "anyOf"):
            if word in schema:
                result[word] = [self.closed(x, f"{place}/{word}/{number}")
                                for number, x in enumerate(schema[word])]
        if "properties" in schema:
            result["properties"] = {
                name: {**self.closed(x, f"{place}/properties/{name}"),
                       "at": f"{place}/properties/{name}"}
                for name, x in schema["properties"].items()}
        for word in ("items", "propertyNames"):
            if word in schema:
                result[word] = self.closed(schema[word], f"{place}/{word}")
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            result["additionalProperties"] = self.closed(
                more, place + "/additionalProperties")
        elif more is None and "object" in _types(schema):
            result["additionalProperties"] = False
        return result

    def response_of(self, name: str, status: int) -> tuple[dict, str]:
        _, path, operation = self.operations[name]
        try:
            response = operation["responses"][str(status)]
        except KeyError:
            raise AssertionError(
                f"{name} answers {status}, which is not documented") from None
        response, at = self.resolve(response)
        return response, at or f"{name}/{status}"

    def parameters_of(self, name: str) -> list[dict]:
        return [self.resolve(x)[0]
                for x in self.operations[name][2].get("parameters", [])]

    # -- values -------------------------------------------------------------

    def check_value(self, schema: dict, place: str, value, what: str):
        schema = self.closed(schema, place)
        found = sorted(_validator(schema).iter_errors(value),
                       key=lambda x: list(map(str, x.absolute_path)))
        if found:
            raise AssertionError(f"{what}: " + "; ".join(
                f"/{'/'.join(map(str, x.absolute_path))}: {x.message[:300]}"
                for x in found[:3]))
        self._note(schema, value)

    def _note(self, schema: dict, value):
        for word in ("oneOf", "anyOf"):
            for branch in schema.get(word, []):
                if _validator(branch).is_valid(value):
                    self._note(branch, value)
                    break
        if isinstance(value, dict):
            more = schema.get("additionalProperties")
            for name, member in value.items():
                if name in schema.get("properties", {}):
                    known = schema["properties"][name]
                    # A null shows nothing of what may stand there.
                    if member is not None or _types(known) == ["null"]:
                        self.shown.add(known["at"])
                    self._note(known, member)
                elif isinstance(more, dict):
                    self._note(more, member)
        elif isinstance(value, list):
            for member in value:
                self._note(schema.get("items", {}), member)

    # -- exchanges ----------------------------------------------------------

    def address(self, name: str, parameters: dict) -> tuple[str, str, dict]:
        """Method, target and headers of a request with these parameters;
        unknown ones go into the query."""
        method, path, _ = self.operations[name]
        parameters = dict(parameters)
        headers = {}
        for known in self.parameters_of(name):
            if known["name"] not in parameters:
                continue
            value = str(parameters[known["name"]])
            if known["in"] == "path":
                path = path.replace("{%s}" % known["name"],
                                    quote(value, safe=""))
                del parameters[known["name"]]
            elif known["in"] == "header":
                headers[known["name"]] = value
                del parameters[known["name"]]
        assert "{" not in path, f"{path} needs more than {parameters}"
        return method, path + ("?" + urlencode(parameters)
                               if parameters else ""), headers

    def note_request(self, name: str, parameters: dict, body):
        """Of one that the node took: it has to be as documented."""
        for known in self.parameters_of(name):
            if known["name"] in parameters:
                value = parameters[known["name"]]
                schema = self.resolve(known["schema"])[0]
                if schema.get("type") == "integer":
                    value = int(value)
                self.check_value(known["schema"], "", value,
                                 f"{name}: parameter {known['name']}")
                self.shown.add(f"{name}?{known['name']}")
            elif known.get("required"):
                raise AssertionError(f"{name} worked without {known['name']}")
        if body is not None:
            content = self.operations[name][2]["requestBody"]["content"]
            self.check_value(content["application/json"]["schema"],
                             f"{name}/request", body, f"{name}: request")

    def check_answer(self, name: str, answer, body: bool = True):
        documented, at = self.response_of(name, answer.status)
        self.shown.add(f"{name}/{answer.status}")
        what = f"{name}: {answer.status}"
        for header, rule in documented.get("headers", {}).items():
            rule, _ = self.resolve(rule)
            value = answer.headers[header]
            if value is None:
                assert not rule.get("required"), f"{what}: no {header}"
                continue
            if rule["schema"].get("type") == "integer":
                value = int(value)
            self.check_value(rule["schema"], "", value, f"{what}: {header}")
            self.shown.add(f"{name}/{answer.status}/{header}")
        content = documented.get("content", {})
        if not body:
            return
        if not content:
            assert answer.body == b"", f"{what}: has a body"
            return
        kind = answer.headers["Content-Type"].split(";")[0]
        if kind not in content:
            kind = kind.split("/")[0] + "/*"
        assert kind in content, f"{what}: {kind} is not documented"
        if kind.endswith("json"):
            self.check_value(content[kind]["schema"], f"{at}/{kind}",
                             json.loads(answer.body), what)

    def check_event(self, name: str, event):
        documented, at = self.response_of(name, 200)
        events = documented["content"]["text/event-stream"]["x-events"]
        assert event.event in events, f"{name}: event {event.event}"
        self.shown.add(f"{name}/{event.event}")
        self.check_value(events[event.event], f"{at}/{event.event}",
                         event.data, f"{name}: event {event.event}")

    # -- what has to be shown -----------------------------------------------

    def everything(self) -> set[str]:
        """Names of all that exchanges can show."""
        result: set[str] = set()
        for name, (_, _, operation) in self.operations.items():
            result |= {f"{name}?{x['name']}" for x in self.parameters_of(name)}
            if body := operation.get("requestBody"):
                self._members(body["content"]["application/json"]["schema"],
                              f"{name}/request", result)
            for status in operation["responses"]:
                self._of_response(name, status, result)
        return result

    def _of_response(self, name: str, status: str, result: set):
        response, at = self.response_of(name, int(status))
        result.add(f"{name}/{status}")
        result |= {f"{name}/{status}/{x}"
                   for x in response.get("headers", {})}
        for kind, content in response.get("content", {}).items():
            if kind.endswith("json"):
                self._members(content["schema"], f"{at}/{kind}", result)
            for event, schema in content.get("x-events", {}).items():
                result.add(f"{name}/{event}")
                self._members(schema, f"{at}/{event}", result)

    def _members(self, schema: dict, place: str, result: set):
        pending = [self.closed(schema, place)]
        while pending:
            schema = pending.pop()
            if "at" in schema:
                result.add(schema["at"])
            pending += schema.get("properties", {}).values()
            pending += schema.get("oneOf", []) + schema.get("anyOf", [])
            for word in ("items", "additionalProperties"):
                if isinstance(schema.get(word), dict):
                    pending.append(schema[word])

    def unused(self) -> set[str]:
        """Components that nothing refers to."""
        text = json.dumps(self.document)
        return {f"{kind}/{name}"
                for kind, members in self.document["components"].items()
                if kind != "securitySchemes" for name in members
                if f'"#/components/{kind}/{name}"' not in text}


def _types(schema: dict) -> list:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else types


def _validator(schema: dict) -> Draft202012Validator:
    return Draft202012Validator(schema, format_checker=FORMATS)


@FORMATS.checks("date-time", raises=ValueError)
def _is_time(x) -> bool:
    """As the node writes it: RFC 3339 in UTC, with milliseconds."""
    if not isinstance(x, str):
        return True  # `type` says what else may stand there
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", x):
        return False
    datetime.fromisoformat(x.replace("Z", "+00:00"))
    return True


@FORMATS.checks("date", raises=ValueError)
def _is_date(x) -> bool:
    if not isinstance(x, str):
        return True
    date.fromisoformat(x)
    return re.fullmatch(r"\d{4}-\d\d-\d\d", x) is not None


@FORMATS.checks("uuid", raises=ValueError)
def _is_uuid(x) -> bool:
    return not isinstance(x, str) or str(UUID(x)) == x


@FORMATS.checks("uri-reference")
def _is_reference(x) -> bool:
    """RFC 3986's characters, and `%` only before two digits."""
    return not isinstance(x, str) or re.fullmatch(
        r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*",
        x) is not None
