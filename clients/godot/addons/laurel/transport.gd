extends Reference
# Sends requests, and repeats those that may succeed later.

const LaurelCall := preload("laurel_call.gd")
const LaurelError := preload("laurel_error.gd")
const Exchange := preload("http_exchange.gd")
const WireFormat := preload("wire_format.gd")

const FIRST_BACKOFF_MS := 250
const LONGEST_BACKOFF_MS := 8000
# A longer `Retry-After` is left to the caller.
const LONGEST_RETRY_AFTER_MS := 60000
const MONTHS := "JanFebMarAprMayJunJulAugSepOctNovDec"
const METHODS := {
	"GET": HTTPClient.METHOD_GET,
	"POST": HTTPClient.METHOD_POST,
	"PUT": HTTPClient.METHOD_PUT,
	"PATCH": HTTPClient.METHOD_PATCH,
	"DELETE": HTTPClient.METHOD_DELETE,
}

signal key_answered

var _worker
var _host: String
var _port: int
var _is_tls: bool
# Path before `/v1`, without a slash at its end.
var _base: String
# A text, or a FuncRef that gets one.
var _key
var _known_key := ""
var _is_asking_key := false
var _tenant: String
var _timeout_ms: int
var _retries: int
var _random := RandomNumberGenerator.new()
var _alarms


# `options`: url, key, tenant, timeoutMs and retries, checked by `fault_of`.
func _init(worker, alarms, options: Dictionary) -> void:
	_worker = worker
	_alarms = alarms
	var parts := _split_url(options.url)
	_is_tls = parts.is_tls
	_host = parts.host
	_port = parts.port
	_base = parts.base
	_key = options.key
	_tenant = options.get("tenant", "")
	_timeout_ms = options.get("timeoutMs", 10000)
	_retries = options.get("retries", 4)
	_random.randomize()


# The fault of the options; an empty text if they have none.
static func fault_of(options: Dictionary) -> String:
	if not options.get("url") is String or _split_url(options.url).empty():
		return "url: the address of the Application API is missing, such as https://laurel.example.org."
	var key = options.get("key")
	if not key is FuncRef and (not key is String or key == ""):
		return "key: an API key, or a FuncRef that gets one, is missing."
	if not options.get("tenant", "") is String:
		return "tenant: not a text."
	if not _is_count(options.get("timeoutMs", 1), 1):
		return "timeoutMs: not a number of milliseconds."
	if not _is_count(options.get("retries", 0), 0):
		return "retries: not a number of repetitions."
	return ""


# Sends a request: `method`; `path` below /v1, with encoded segments; and optionally `query`, `body` (JSON as text),
# `idempotencyKey`, `retries`.
func send(request: Dictionary) -> LaurelCall:
	var laurel_call := LaurelCall.new()
	laurel_call.idempotency_key = request.get("idempotencyKey", "")
	_send(laurel_call, request)
	return laurel_call


# A call that fails.
func fail(error: LaurelError) -> LaurelCall:
	var laurel_call := LaurelCall.new()
	laurel_call.complete_later(null, error)
	return laurel_call


# Milliseconds before a repetition: doubles each time up to a limit, with jitter, and never less than Laurel asks for.
func backoff_ms(attempt: int, least: int, most := LONGEST_BACKOFF_MS) -> int:
	var backoff := min(most, FIRST_BACKOFF_MS * pow(2, attempt)) * (0.5 + _random.randf() / 2)
	return int(max(least, backoff))


# `rang` of it is emitted after a time.
func alarm(ms: int):
	return _alarms.alarm(ms)


func _send(laurel_call: LaurelCall, request: Dictionary):
	var retries: int = request.get("retries", _retries)
	var attempts := 0
	var has_new_key := false
	while true:
		var key = _current_key()
		if key is GDScriptFunctionState:
			key = yield(key, "completed")
		var answer: Dictionary
		if key == "":
			answer = _failure("network", "key: the function returned no key.")
		else:
			var exchange := _exchange(request, key)
			_worker.send(exchange)
			yield(exchange, "finished")
			if exchange.failure == "ended":
				# The game does not expect answers while it quits.
				return
			answer = _answer_of(exchange)
			if exchange.status == 401 and _key is FuncRef:
				if _known_key == key:
					_known_key = ""
				if not has_new_key:
					has_new_key = true
					continue
		var error = answer.error
		if error == null or not error.is_transient() or attempts >= retries:
			laurel_call.complete_later(answer.data, error)
			return
		if error.retry_after_ms > LONGEST_RETRY_AFTER_MS:
			laurel_call.complete_later(null, error)
			return
		yield(alarm(backoff_ms(attempts, error.retry_after_ms)), "rang")
		attempts += 1
		has_new_key = false


# The key, or a function state that completes with it; empty if there is none at the moment.
func _current_key():
	if _key is String:
		return _key
	if _known_key == "" and _is_asking_key:
		yield(self, "key_answered")
	elif _known_key == "":
		_is_asking_key = true
		var key = _key.call_func() if _key.is_valid() else ""
		if key is GDScriptFunctionState:
			key = yield(key, "completed")
		_known_key = key if key is String else ""
		_is_asking_key = false
		emit_signal("key_answered")
	return _known_key


func _exchange(request: Dictionary, key: String) -> Exchange:
	var exchange := Exchange.new()
	exchange.host = _host
	exchange.port = _port
	exchange.is_tls = _is_tls
	exchange.method = METHODS[request.method]
	exchange.target = _base + "/v1" + request.path + WireFormat.query(request.get("query", {}))
	exchange.timeout_ms = _timeout_ms
	var headers := PoolStringArray(["X-API-KEY: " + key])
	if request.has("body"):
		exchange.body = request.body
		headers.append("Content-Type: application/json")
	if request.get("idempotencyKey", "") != "":
		headers.append("Idempotency-Key: " + request.idempotencyKey)
	if _tenant != "":
		headers.append("Tenant-ID: " + _tenant)
	exchange.headers = headers
	return exchange


static func _failure(code: String, message: String, status := 0) -> Dictionary:
	return {"data": null, "error": LaurelError.new(code, message, status)}


static func _answer_of(exchange) -> Dictionary:
	if exchange.failure != "":
		return _failure(exchange.failure, exchange.failure_message)
	var status: int = exchange.status
	# `JSON.parse` reports invalid JSON to the console as well.
	var parsed := JSON.parse(exchange.text)
	var excerpt := "%d %s" % [status, exchange.text.left(200)]
	if status >= 200 and status < 300:
		if parsed.error == OK:
			return {"data": parsed.result, "error": null}
		return _failure("unexpected_answer", excerpt, status)
	var body = parsed.result if parsed.error == OK and parsed.result is Dictionary else {}
	var is_laurel: bool = body.get("error") is String and body.get("code") is String
	var error := LaurelError.new("unexpected_answer", excerpt, status)
	if is_laurel:
		error.code = body.code
		error.message = body.error
		error.hint = body.hint if body.get("hint") is String else ""
		error.balance = body.get("balance")
	error.request_id = exchange.answer_headers.get("x-request-id", "")
	error.retry_after_ms = _retry_after_ms(exchange.answer_headers.get("retry-after", ""))
	return {"data": null, "error": error}


# `Retry-After`: seconds, or a date such as `Wed, 21 Oct 2026 07:28:00 GMT`.
static func _retry_after_ms(text: String) -> int:
	var value := text.strip_edges()
	if value.is_valid_integer():
		return int(max(0, value.to_int())) * 1000
	var words := value.replace(":", " ").split(" ", false)
	if words.size() != 8:
		return 0
	var month := MONTHS.find(words[2])
	if month < 0 or month % 3 != 0:
		return 0
	var date := {
		"year": words[3].to_int(),
		# warning-ignore:integer_division
		"month": month / 3 + 1,
		"day": words[1].to_int(),
		"hour": words[4].to_int(),
		"minute": words[5].to_int(),
		"second": words[6].to_int(),
	}
	return int(max(0, OS.get_unix_time_from_datetime(date) * 1000 - OS.get_system_time_msecs()))


# Empty if it is not a URL of a server.
static func _split_url(url: String) -> Dictionary:
	var is_tls := url.begins_with("https://")
	if not is_tls and not url.begins_with("http://"):
		return {}
	var rest := url.trim_prefix("https://" if is_tls else "http://")
	var slash := rest.find("/")
	var server := rest if slash < 0 else rest.left(slash)
	var base := "" if slash < 0 else rest.substr(slash)
	# The colon of the port, not one of an IPv6 address.
	var colon := server.rfind(":") if server.rfind(":") > server.rfind("]") else -1
	var port := server.substr(colon + 1) if colon >= 0 else ("443" if is_tls else "80")
	var host := server if colon < 0 else server.left(colon)
	if host.begins_with("[") and host.ends_with("]"):
		host = host.substr(1, host.length() - 2)
	if host == "" or not port.is_valid_integer() or "?" in rest or "#" in rest or "@" in server or " " in rest:
		return {}
	while base.ends_with("/"):
		base = base.left(base.length() - 1)
	return {"is_tls": is_tls, "host": host, "port": port.to_int(), "base": base.trim_suffix("/v1")}


static func _is_count(value, least: int) -> bool:
	return (value is int or value is float) and value == floor(value) and value >= least
