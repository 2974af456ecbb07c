extends Reference
# Calls about a leaderboard. Options and answers have the names of the API.

const LaurelCall := preload("laurel_call.gd")
const LaurelError := preload("laurel_error.gd")
const WireFormat := preload("wire_format.gd")

var key: String

var _transport
var _path: String


func _init(transport, leaderboard_key: String) -> void:
	_transport = transport
	key = leaderboard_key
	_path = WireFormat.path(["leaderboards", key])


# A page of places from the top: `offset`, `limit`, `run`, `userAttributes`.
func page(query := {}) -> LaurelCall:
	return _read("", query)


# A user's place with the neighbours: `above` and `below` (2 by default), `run`, `userAttributes`.
func around(user_id: String, options := {}) -> LaurelCall:
	var query: Dictionary = options.duplicate()
	var above: int = query.get("above", 2)
	var below: int = query.get("below", 2)
	for name in ["above", "below"]:
		var _was_given := query.erase(name)
	query["userId"] = user_id
	query["offset"] = -above
	query["limit"] = above + 1 + below
	return _read("", query)


# Up to 500 users, such as friends, ranked among themselves. `options`: `run`, `userAttributes` and the others of the
# operation.
func among(user_ids: Array, options := {}) -> LaurelCall:
	var body: Dictionary = options.duplicate()
	body["userIds"] = user_ids
	var fault := WireFormat.fault(body)
	if fault != "":
		return _transport.fail(LaurelError.new("invalid_call", "options: %s." % fault))
	return _transport.send({"method": "POST", "path": _path + "/rankings", "body": WireFormat.json(body)})


# The ranking of teams, on a leaderboard with a team attribute.
func teams(query := {}) -> LaurelCall:
	return _read("/teams", query)


func _read(below: String, query: Dictionary) -> LaurelCall:
	var fault := WireFormat.fault(query)
	if fault != "":
		return _transport.fail(LaurelError.new("invalid_call", "query: %s." % fault))
	return _transport.send({"method": "GET", "path": _path + below, "query": query})
