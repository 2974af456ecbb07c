extends Reference
# Stores events and sends them one after another, in their order, as soon as there is a connection. Each gets its time
# and its idempotency key when it is stored, so it is counted once however often it is sent. A client with a user sends
# only the events that were tracked for this user; those of others wait until their clients are back.

const LaurelCall := preload("laurel_call.gd")
const LaurelError := preload("laurel_error.gd")
const WireFormat := preload("wire_format.gd")

const LONGEST_WAIT_MS := 60000
# Codes that say something about the key or the address, not about the event.
const NOT_THE_EVENT := [
	"unexpected_answer",
	"insufficient_scope",
	"tenant_required",
	"unknown_path",
	"method_not_allowed",
]
const OPTIONS := ["attributes", "occurredAt", "idempotencyKey", "user"]

signal changed(size)
# An event was counted.
signal done(event, result)
# Laurel refused an event; it has left the queue.
signal refused(event, error)
# An attempt failed; the event stays, and is sent again later.
signal failed(error)

var _transport
var _folder
# Fields of the client's user; empty: it has none.
var _user: Dictionary
# Owner of the events that this queue sends; null for a client without a user.
var _owner
var _most: int
var _late: String
# The calls of this session that wait for an answer, by the IDs of their events.
var _calls := {}
var _may_send_time := true
var _is_sending := false
var _is_closed := false
# The wait between two attempts.
var _pause = null


# `options`: `maxEvents` and `late`, checked by `fault_of`.
func _init(transport, folder, user: Dictionary, options: Dictionary) -> void:
	_transport = transport
	_folder = folder
	_user = user
	_owner = user.get("id")
	_most = options.get("maxEvents", 1000)
	_late = options.get("late", "now")


# The fault of the options; an empty text if they have none.
static func fault_of(options: Dictionary) -> String:
	var most = options.get("maxEvents", 1)
	if not (most is int or most is float) or most < 1:
		return "maxEvents: not a number of events."
	if not options.get("late", "now") in ["now", "refuse"]:
		return "late: neither 'now' nor 'refuse'."
	return ""


# Stores an event. The call completes when Laurel has counted or refused it; it fails at once with `queue_full`,
# `idempotency_key_reused`, `not_stored` or `invalid_call`.
func track(metric: String, value, options: Dictionary) -> LaurelCall:
	var fault := _fault_of_event(metric, value, options)
	if fault != "":
		return _transport.fail(LaurelError.new("invalid_call", fault))
	var id := WireFormat.new_idempotency_key()
	var user = options.get("user", _user)
	var event := {
		"id": id,
		"owner": _owner,
		"metric": metric,
		"user": {"id": user} if user is String else user,
		"value": WireFormat.json(value),
		"attributes": options.get("attributes", {}),
		"occurredAt": _time_of(options),
		"idempotencyKey": options.get("idempotencyKey", id),
	}
	if options.has("idempotencyKey"):
		var twin = _twin(event)
		if twin != null and _is_same(twin, event, options.has("occurredAt")):
			return _call_of(twin)
		if twin != null:
			var message: String = "idempotencyKey: another event waits with '%s'." % event.idempotencyKey
			return _transport.fail(LaurelError.new("idempotency_key_reused", message))
	var error = _folder.add(event, _most)
	if error != null:
		return _transport.fail(error)
	var laurel_call := _call_of(event)
	emit_signal("changed", size())
	start()
	return laurel_call


# How many events of this client wait.
func size() -> int:
	return _own().size()


# Sends what waits.
func start() -> void:
	if not _is_sending and not _is_closed:
		_is_sending = true
		_send_all()


# Sends at once, without the wait after a failed attempt.
func flush() -> void:
	start()
	if _pause != null:
		_pause.ring_now()


# Stops sending. What waits stays in the folder.
func end() -> void:
	_is_closed = true
	flush()


# Ends, and fails the calls that wait.
func close() -> void:
	end()
	var message := "The client was configured again; the event stays in the queue."
	for laurel_call in _calls.values():
		laurel_call.complete_later(null, LaurelError.new("queue_closed", message))
	_calls = {}


func _send_all():
	var attempts := 0
	while not _is_closed and size() > 0:
		var event: Dictionary = _own().front()
		var is_dated := _may_send_time or _late == "refuse"
		var answer = yield(_send(event, is_dated), "completed")
		if is_dated and _late == "now" and _is_about_event(answer.error) and answer.error.status in [403, 422]:
			var status: int = answer.error.status
			answer = yield(_send(event, false), "completed")
			# The key may send no time at all, while another event may be recent enough.
			if answer.error == null and status == 403:
				_may_send_time = false
		# After `close`, another queue may send the event, with the same key.
		if _is_closed:
			break
		var error = answer.error
		if error == null or _is_about_event(error):
			var problem = _folder.remove(event)
			if problem == null:
				attempts = 0
				_settle(event, answer)
				continue
			error = problem
		emit_signal("failed", error)
		if _is_closed:
			break
		_pause = _transport.alarm(_transport.backoff_ms(attempts, error.retry_after_ms, LONGEST_WAIT_MS))
		yield(_pause, "rang")
		_pause = null
		attempts += 1
	_is_sending = false


func _send(event: Dictionary, is_dated: bool) -> LaurelCall:
	var fields := PoolStringArray(['"user":' + WireFormat.json(event.user), '"value":' + event.value])
	if not event.attributes.empty():
		fields.append('"attributes":' + WireFormat.json(event.attributes))
	if is_dated:
		fields.append('"occurredAt":' + WireFormat.json(event.occurredAt))
	var request := {
		"method": "POST",
		"path": WireFormat.path(["metrics", event.metric, "event"]),
		"body": "{%s}" % fields.join(","),
		"idempotencyKey": event.idempotencyKey,
		"retries": 0,
	}
	return _transport.send(request)


# Reports an event that has left the queue.
func _settle(event: Dictionary, answer) -> void:
	if _calls.has(event.id):
		_calls[event.id].complete_later(answer.data, answer.error)
		var _had_call := _calls.erase(event.id)
	emit_signal("changed", size())
	if answer.error == null:
		emit_signal("done", event, answer.data)
	else:
		emit_signal("refused", event, answer.error)


func _own() -> Array:
	var own := []
	for event in _folder.events:
		if event.owner == _owner:
			own.append(event)
	return own


func _call_of(event: Dictionary) -> LaurelCall:
	if not _calls.has(event.id):
		var laurel_call := LaurelCall.new()
		laurel_call.idempotency_key = event.idempotencyKey
		_calls[event.id] = laurel_call
	return _calls[event.id]


# An event that waits with the same key; a key belongs to a user and a metric.
func _twin(event: Dictionary):
	for other in _folder.events:
		if (
			other.idempotencyKey == event.idempotencyKey
			and other.metric == event.metric
			and other.user.id == event.user.id
		):
			return other
	return null


static func _is_same(one: Dictionary, other: Dictionary, is_dated: bool) -> bool:
	return (
		one.value == other.value
		and WireFormat.json(one.attributes) == WireFormat.json(other.attributes)
		and (not is_dated or one.occurredAt == other.occurredAt)
	)


static func _is_about_event(error) -> bool:
	return (
		error != null
		and not error.is_transient()
		and error.status >= 400
		and error.status != 401
		and not error.code in NOT_THE_EVENT
	)


static func _time_of(options: Dictionary) -> String:
	var time = options.get("occurredAt", OS.get_system_time_msecs())
	if time is String:
		return time
	return WireFormat.iso_time(time if not options.has("occurredAt") else int(time * 1000))


func _fault_of_event(metric: String, value, options: Dictionary) -> String:
	if metric == "":
		return "metric: the key of a metric is missing."
	if not (value is int or value is float) or WireFormat.fault(value) != "":
		return "value: not a finite number."
	for name in options:
		if not name in OPTIONS:
			return "%s: unknown; the options are %s." % [name, PoolStringArray(OPTIONS).join(", ")]
	var user = options.get("user", _user)
	if user is Dictionary and (not user.get("id") is String or WireFormat.fault(user) != ""):
		return "user: the ID of a user is missing, here and in `configure`."
	if not user is Dictionary and (not user is String or user == ""):
		return "user: neither an ID nor an ID with fields."
	var attributes = options.get("attributes", {})
	if not attributes is Dictionary or WireFormat.fault(attributes) != "":
		return "attributes: not texts by the keys of attributes."
	var time = options.get("occurredAt", 0)
	if not (time is String or time is int or time is float):
		return "occurredAt: neither ISO 8601 nor Unix seconds."
	if not options.get("idempotencyKey", "-") is String or options.get("idempotencyKey", "-") == "":
		return "idempotencyKey: not a text."
	return ""
