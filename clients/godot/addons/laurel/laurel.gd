extends Node
# The client of Laurel: the autoload `Laurel`. Call `configure` first. No call stops the game; each returns a LaurelCall
# at once. Options and answers have the names of Laurel's API.

const Alarms := preload("alarms.gd")
const LaurelCall := preload("laurel_call.gd")
const LaurelError := preload("laurel_error.gd")
const FailingTransport := preload("failing_transport.gd")
const Leaderboard := preload("leaderboard.gd")
const Queue := preload("queue.gd")
const QueueFolder := preload("queue_folder.gd")
const Transport := preload("transport.gd")
const User := preload("user.gd")
const WireFormat := preload("wire_format.gd")
const Worker := preload("http_worker.gd")

const FOLDER := "user://laurel/queue"
const OPTIONS := ["url", "key", "user", "tenant", "timeoutMs", "retries", "maxEvents", "late"]

# Laurel counted an event. `event`: metric, user, value, attributes, occurredAt, idempotencyKey; `result`: the answer.
signal event_done(event, result)
# Laurel refused an event; it has left the queue.
signal event_refused(event, error)
# An attempt to send an event failed, or the queue's folder has a fault. Events stay, and are sent again later.
signal send_failed(error)
# How many events of the user wait.
signal queue_changed(size)
# The following are emitted for each event that had the effect, after `event_done`. If the game ended before it got
# the answer, they are not repeated.
signal achievement_completed(achievement)
signal points_changed(points)
signal streak_extended(streak)

var _alarms := Alarms.new()
var _worker = null
var _folder = null
var _transport = FailingTransport.new("Laurel.configure must be called first.")
var _queue = null
var _user := {}


func _ready() -> void:
	# The queue works while the game is paused.
	pause_mode = Node.PAUSE_MODE_PROCESS


func _process(_delta: float) -> void:
	if _worker != null:
		_worker.poll()
		_alarms.poll()


func _notification(what: int) -> void:
	if what == MainLoop.NOTIFICATION_APP_RESUMED:
		flush()


func _exit_tree() -> void:
	if _worker != null:
		_queue.end()
		_alarms.end()
		_worker.end()


# Sets the server and the user, and sends what an earlier session left. Call it again for another user. Returns a
# LaurelError if an option is wrong, otherwise null.
#
# url        address of the Application API, such as https://laurel.example.org
# key        an API key of the user, or a FuncRef that returns one, or that yields and then returns one. It is called
#            before the first request, and again when Laurel does not accept the key
# user       the user's ID, or a Dictionary with the ID and fields that every event sets, such as the time zone
# tenant     the customer ID of a tenant, where there are several
# timeoutMs  milliseconds that one attempt may take. Default: 10,000
# retries    how often a failed request is repeated, with the same idempotency key. Default: 4. Events: until an answer
# maxEvents  how many events may wait. Default: 1,000
# late       if Laurel refuses the time of an event: `now` (the default) sends it without, so that it counts when it
#            arrives; `refuse` emits `event_refused`
func configure(options: Dictionary) -> LaurelError:
	var fault := _fault_of(options)
	if fault != "":
		push_error("Laurel.configure: " + fault)
		return LaurelError.new("invalid_call", fault)
	var user = options.get("user", {})
	_user = {"id": user} if user is String else user
	var errors := []
	if _worker == null:
		_worker = Worker.new()
		_folder = QueueFolder.new(FOLDER)
		errors = _folder.open()
	else:
		_queue.close()
	_transport = Transport.new(_worker, _alarms, options)
	_queue = Queue.new(_transport, _folder, _user, options)
	_queue.connect("done", self, "_on_done")
	_queue.connect("refused", self, "_on_refused")
	_queue.connect("failed", self, "_on_failed")
	_queue.connect("changed", self, "_on_changed")
	for error in errors:
		emit_signal("send_failed", error)
	emit_signal("queue_changed", _queue.size())
	_queue.start()
	return null


# Stores an event of the user, and sends it as soon as there is a connection. The call completes when Laurel has counted
# or refused it. `options`: `attributes` (texts by keys), `occurredAt` (ISO 8601 or Unix seconds; default: the present),
# `idempotencyKey` (default: random), `user` (default: the user of `configure`).
func track(metric: String, value = 1, options := {}) -> LaurelCall:
	return _transport.send({}) if _queue == null else _queue.track(metric, value, options)


# How many events of the user wait.
func queue_size() -> int:
	return 0 if _queue == null else _queue.size()


# Sends what waits now, without the pause after a failed attempt. Call it when the network is back.
func flush() -> void:
	if _queue != null:
		_queue.flush()


# Calls about a user; by default the user of `configure`.
func user(id := "") -> User:
	var user_id: String = id if id != "" else _user.get("id", "")
	if user_id == "" and _queue != null:
		var message := "user: the ID of a user is missing, here and in `configure`."
		return User.new(FailingTransport.new(message), user_id)
	return User.new(_transport, user_id)


func leaderboard(key: String) -> Leaderboard:
	return Leaderboard.new(_transport, key)


func leaderboards(query := {}) -> LaurelCall:
	return request("GET", "/leaderboards", query)


# All active achievements, with the number of users who completed each.
func achievements(query := {}) -> LaurelCall:
	return request("GET", "/achievements", query)


# The users with the longest streaks.
func streak_rankings(query := {}) -> LaurelCall:
	return request("GET", "/streaks/rankings", query)


# A points system: its description and triggers.
func points_system(key: String) -> LaurelCall:
	return request("GET", WireFormat.path(["points", key]))


func levels(key: String) -> LaurelCall:
	return request("GET", WireFormat.path(["points", key, "levels"]))


# Any other operation of the Application API. `path`: below /v1, with encoded segments; `body`: null for none.
func request(method: String, path: String, query := {}, body = null, idempotency_key := "") -> LaurelCall:
	var sent := {"method": method, "path": path, "query": query, "idempotencyKey": idempotency_key}
	var fault := WireFormat.fault([query, body])
	if not Transport.METHODS.has(method):
		fault = "method: not one of %s" % PoolStringArray(Transport.METHODS.keys()).join(", ")
	if fault != "":
		return _transport.fail(LaurelError.new("invalid_call", fault + "."))
	if body != null:
		sent["body"] = WireFormat.json(body)
	return _transport.send(sent)


func _on_done(event: Dictionary, result) -> void:
	emit_signal("event_done", event, result)
	if not result is Dictionary:
		return
	for achievement in result.get("achievements", []):
		emit_signal("achievement_completed", achievement)
	for key in result.get("points", {}):
		emit_signal("points_changed", result.points[key])
	var streak = result.get("currentStreak")
	if streak is Dictionary and streak.get("extended", false):
		emit_signal("streak_extended", streak)


func _on_refused(event: Dictionary, error: LaurelError) -> void:
	emit_signal("event_refused", event, error)


func _on_failed(error: LaurelError) -> void:
	emit_signal("send_failed", error)


func _on_changed(size: int) -> void:
	emit_signal("queue_changed", size)


static func _fault_of(options: Dictionary) -> String:
	for name in options:
		if not name in OPTIONS:
			return "%s: unknown; the options are %s." % [name, PoolStringArray(OPTIONS).join(", ")]
	var user = options.get("user", {})
	if not user is String and not user is Dictionary:
		return "user: neither an ID nor an ID with fields."
	if user is String and user == "":
		return "user: the ID is empty."
	if user is Dictionary and not user.empty() and not user.get("id") is String:
		return "user: the ID is missing."
	var fault := Transport.fault_of(options)
	return fault if fault != "" else Queue.fault_of(options)
