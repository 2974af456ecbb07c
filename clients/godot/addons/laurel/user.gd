extends Reference
# A user and what belongs to them. Options and answers have the names of the API.

const LaurelCall := preload("laurel_call.gd")
const LaurelError := preload("laurel_error.gd")
const WireFormat := preload("wire_format.gd")

var id: String

var _transport
var _path: String


func _init(transport, user_id: String) -> void:
	_transport = transport
	id = user_id
	_path = WireFormat.path(["users", user_id])


func profile() -> LaurelCall:
	return _read([])


# Creates the user, or sets these fields.
func identify(fields: Dictionary) -> LaurelCall:
	return _write("PUT", [], fields)


# Sets these fields of an existing user.
func update(fields: Dictionary) -> LaurelCall:
	return _write("PATCH", [], fields)


func preferences() -> LaurelCall:
	return _read(["preferences"])


func update_preferences(changes: Dictionary) -> LaurelCall:
	return _write("PATCH", ["preferences"], changes)


# All totals, with the achievements of each metric.
func metrics() -> LaurelCall:
	return _read(["metrics"])


# The total of one metric.
func metric(key: String) -> LaurelCall:
	return _read(["metrics", key])


# The total of a metric by day, week or month: `aggregation`, `startDate`, `endDate`.
func metric_summary(key: String, query: Dictionary) -> LaurelCall:
	return _read(["metrics", key, "event-summary"], query)


# Completed achievements; with `includeIncomplete`, the others, too. Quests have a `period`.
func achievements(query := {}) -> LaurelCall:
	var sent: Dictionary = query.duplicate()
	# The operation takes `true` alone.
	if not sent.get("includeIncomplete", false):
		var _was_given := sent.erase("includeIncomplete")
	return _read(["achievements"], sent)


# Completes an achievement with the trigger `api`.
func complete(achievement: String) -> LaurelCall:
	var path := WireFormat.path(["achievements", achievement, "complete"])
	return _transport.send({"method": "POST", "path": path, "body": WireFormat.json({"user": {"id": id}})})


# The streak; with `historyPeriods`, that many periods, the current one last.
func streak(query := {}) -> LaurelCall:
	return _read(["streak"], query)


# Total, balance and level in a points system; with `awards`, the latest awards.
func points(key: String, query := {}) -> LaurelCall:
	return _read(["points", key], query)


# The points by day, week or month.
func points_summary(key: String, query: Dictionary) -> LaurelCall:
	return _read(["points", key, "event-summary"], query)


# Boosts of this user.
func boosts(key: String) -> LaurelCall:
	return _read(["points", key, "boosts"])


# Lowers the balance once. Fails with `insufficient_balance` if it does not suffice. `options`: `reason`, `reference`,
# and `idempotencyKey` to make the call again later.
func spend(key: String, amount: int, options := {}) -> LaurelCall:
	return _change_balance(key, "spend", {"amount": amount}, options)


# Sets points aside for some seconds. An admin key then captures or releases them.
func hold(key: String, amount: int, expires_in: int, options := {}) -> LaurelCall:
	return _change_balance(key, "hold", {"amount": amount, "expiresIn": expires_in}, options)


# Rank, score and percentile on a leaderboard.
func leaderboard(key: String, query := {}) -> LaurelCall:
	return _read(["leaderboards", key], query)


# The review of a year; by default of the current one.
func wrapped(query := {}) -> LaurelCall:
	return _read(["wrapped"], query)


func _read(segments: Array, query := {}) -> LaurelCall:
	var fault := WireFormat.fault(query)
	if fault != "":
		return _transport.fail(LaurelError.new("invalid_call", "query: %s." % fault))
	return _transport.send({"method": "GET", "path": _path + WireFormat.path(segments), "query": query})


func _write(method: String, segments: Array, fields: Dictionary, idempotency_key := "") -> LaurelCall:
	var fault := WireFormat.fault(fields)
	if fault != "":
		return _transport.fail(LaurelError.new("invalid_call", "fields: %s." % fault))
	var request := {
		"method": method,
		"path": _path + WireFormat.path(segments),
		"body": WireFormat.json(fields),
		"idempotencyKey": idempotency_key,
	}
	return _transport.send(request)


func _change_balance(key: String, how: String, fields: Dictionary, options: Dictionary) -> LaurelCall:
	for name in options:
		if name in ["reason", "reference"]:
			fields[name] = options[name]
		elif name != "idempotencyKey":
			var message: String = "%s: unknown; the options are reason, reference, idempotencyKey." % name
			return _transport.fail(LaurelError.new("invalid_call", message))
	var idempotency_key = options.get("idempotencyKey", WireFormat.new_idempotency_key())
	if not idempotency_key is String or idempotency_key == "":
		return _transport.fail(LaurelError.new("invalid_call", "idempotencyKey: not a text."))
	return _write("POST", ["points", key, how], fields, idempotency_key)
