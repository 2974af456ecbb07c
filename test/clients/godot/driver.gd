extends Node
# Runs the add-on for a test: takes calls from the test over a connection, a line of JSON each, and sends back what they
# return. Signals are sent as well.

var _test := StreamPeerTCP.new()
var _received := ""
# Keys that the function of `configure` returns, one after another.
var _keys := []


func _ready() -> void:
	for name in [
		"event_done",
		"event_refused",
		"send_failed",
		"queue_changed",
		"achievement_completed",
		"points_changed",
		"streak_extended",
	]:
		var _error := Laurel.connect(name, self, "_on_" + name)
	var _error := _test.connect_to_host("127.0.0.1", int(OS.get_environment("TEST_PORT")))


func _process(_delta: float) -> void:
	if _test.get_status() == StreamPeerTCP.STATUS_CONNECTING:
		return
	if _test.get_status() != StreamPeerTCP.STATUS_CONNECTED:
		get_tree().quit()
		return
	var size := _test.get_available_bytes()
	if size > 0:
		_received += _test.get_utf8_string(size)
	while "\n" in _received:
		var end := _received.find("\n")
		var line := _received.left(end)
		_received = _received.substr(end + 1)
		_run(JSON.parse(line).result)


func _run(command: Dictionary) -> void:
	var target = Laurel
	if command.target != "Laurel":
		target = Laurel.call(command.target, command.of)
	var arguments: Array = command.arguments
	if command.name == "configure" and arguments[0].has("keys"):
		_keys = arguments[0].keys
		arguments[0].erase("keys")
		arguments[0]["key"] = funcref(self, "_next_key")
	if command.name == "quit":
		get_tree().quit()
		return
	var result = target.callv(command.name, arguments)
	if result is Laurel.LaurelCall and not result.is_done and command.wait:
		result.connect("completed", self, "_on_completed", [command.id])
	else:
		_send({"id": command.id, "result": _plain(result)})


func _on_completed(laurel_call, id) -> void:
	_send({"id": id, "result": _plain(laurel_call)})


# What JSON can hold of a result.
func _plain(result):
	if result is Laurel.LaurelError:
		var fields := {"message": result.message, "balance": result.balance, "request_id": result.request_id}
		fields["code"] = result.code
		fields["status"] = result.status
		return fields
	if result is Laurel.LaurelCall:
		return {"data": result.data, "error": _plain(result.error), "key": result.idempotency_key}
	return result


func _next_key():
	yield(get_tree(), "idle_frame")
	return _keys.pop_front()


func _send(message: Dictionary) -> void:
	var _error := _test.put_data((Laurel.WireFormat.json(message) + "\n").to_utf8())


func _on_event_done(event, result) -> void:
	_send({"signal": "event_done", "value": event.value, "total": result.total})


func _on_event_refused(event, error) -> void:
	_send({"signal": "event_refused", "value": event.value, "code": error.code})


func _on_send_failed(error) -> void:
	_send({"signal": "send_failed", "code": error.code})


func _on_queue_changed(size) -> void:
	_send({"signal": "queue_changed", "size": size})


func _on_achievement_completed(achievement) -> void:
	_send({"signal": "achievement_completed", "name": achievement.name})


func _on_points_changed(points) -> void:
	_send({"signal": "points_changed", "key": points.key, "total": points.total})


func _on_streak_extended(streak) -> void:
	_send({"signal": "streak_extended", "length": streak.length})
