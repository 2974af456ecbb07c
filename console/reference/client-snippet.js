// Code that calls an operation with the TypeScript client, as the reference page shows it.

const isName = (text) => /^[A-Za-z_]\w*$/.test(text);
const quoted = (text) => `'${text.replaceAll(/[\\']/g, '\\$&').replaceAll('\n', '\\n')}'`;

/** A value as TypeScript writes it: on one line if it is short. */
function literal(value, indent = '') {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const isList = Array.isArray(value);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  const items = (deeper) =>
    Object.entries(value).map(([name, one]) =>
      isList ? literal(one, deeper) : `${isName(name) ? name : quoted(name)}: ${literal(one, deeper)}`,
    );
  if (items('').length === 0) return open + close;
  const space = isList ? '' : ' ';
  const line = `${open}${space}${items('').join(', ')}${space}${close}`;
  if (line.length < 80 && !line.includes('\n')) return line;
  const deeper = `${indent}  `;
  return [open, ...items(deeper).map((item) => `${deeper}${item},`), `${indent}${close}`].join('\n');
}

/** Arguments without those that are undefined, at the end. */
const list = (...values) =>
  values
    .filter((value) => value !== undefined && !(typeof value === 'object' && Object.keys(value).length === 0))
    .map((value) => literal(value))
    .join(', ');

const user = ({ id }) => `user(${quoted(id)})`;
/** The user of a body: the ID, or all fields that are sent. */
const sender = ({ user: sent }) => `user(${Object.keys(sent).length === 1 ? quoted(sent.id) : literal(sent)})`;
const points = ({ id, key }) => `user(${quoted(id)}).points(${quoted(key)})`;
const pointsSystem = ({ key }) => `points(${quoted(key)})`;
const leaderboard = ({ key }) => `leaderboard(${quoted(key)})`;

/**
 * The client's methods, by the IDs of operations: from the values of the path, the query, the body and the idempotency key of a
 * call. Others are called with `send`.
 */
const METHODS = {
  metrics_event: ({ key }, { body: { value, user: _user, ...rest }, idempotencyKey, body }) =>
    `${sender(body)}.track(${list(key, value, { ...rest, idempotencyKey })})`,
  achievements_all: () => 'achievements()',
  achievements_complete: ({ key }, { body }) => `${sender(body)}.complete(${quoted(key)})`,
  users_get: (at) => `${user(at)}.get()`,
  users_identify: (at, { body }) => `${user(at)}.identify(${list(body)})`,
  users_update: (at, { body }) => `${user(at)}.update(${list(body)})`,
  users_get_preferences: (at) => `${user(at)}.preferences()`,
  users_update_preferences: (at, { body }) => `${user(at)}.updatePreferences(${list(body)})`,
  users_all_metrics: (at) => `${user(at)}.metrics()`,
  users_achievements: (at) => `${user(at)}.achievements()`,
  users_single_metric: (at) => `${user(at)}.metric(${quoted(at.key)}).get()`,
  users_metric_event_summary: (at, { query }) => `${user(at)}.metric(${quoted(at.key)}).summary(${list(query)})`,
  users_points_event_summary: (at, { query }) => `${points(at)}.summary(${list(query)})`,
  users_streak: (at) => `${user(at)}.streak()`,
  users_points: (at) => `${points(at)}.get()`,
  users_points_boosts: (at) => `${points(at)}.boosts()`,
  users_leaderboard: (at) => `${user(at)}.leaderboard(${quoted(at.key)})`,
  users_wrapped: (at) => `${user(at)}.wrapped()`,
  spendings_spend: (at, { body: { amount, ...rest }, idempotencyKey }) =>
    `${points(at)}.spend(${list(amount, { ...rest, idempotencyKey })})`,
  spendings_hold: (at, { body: { amount, ...rest }, idempotencyKey }) =>
    `${points(at)}.hold(${list(amount, { ...rest, idempotencyKey })})`,
  spendings_capture: (at) => `${points(at)}.capture(${quoted(at.holdId)})`,
  spendings_release: (at) => `${points(at)}.release(${quoted(at.holdId)})`,
  spendings_refund: (at) => `${points(at)}.refund(${quoted(at.spendingId)})`,
  streaks_list: (_, { query }) => `streaks(${list(query.userIds.split(','))})`,
  streaks_rankings: () => 'streakRankings()',
  points_system: (at) => `${pointsSystem(at)}.get()`,
  points_summary: (at) => `${pointsSystem(at)}.summary()`,
  points_boosts: (at) => `${pointsSystem(at)}.boosts()`,
  points_levels: (at) => `${pointsSystem(at)}.levels()`,
  points_level_summary: (at) => `${pointsSystem(at)}.levelSummary()`,
  leaderboards_all: () => 'leaderboards()',
  leaderboards_get: (at) => `${leaderboard(at)}.get()`,
  leaderboards_rankings: (at, { body: { userIds, ...rest } }) => `${leaderboard(at)}.among(${list(userIds, rest)})`,
  leaderboards_teams: (at) => `${leaderboard(at)}.teams()`,
};

/** The address of the Application API, which the admin port does not know. */
const APPLICATION_URL = 'http://localhost:8080';

/**
 * The snippet of a call.
 * @param {{ operationId: string, origin: string, method: string, path: string, values: object, query: object, body: unknown,
 *   idempotencyKey: string | undefined }} call `path` below `/v1`, with its values
 */
export function clientSnippet({ operationId, origin, values, ...call }) {
  const isAdmin = operationId.startsWith('admin_');
  const options = isAdmin ? `url: '${APPLICATION_URL}', adminUrl: '${origin}'` : `url: '${origin}'`;
  const { method, path, query, body, idempotencyKey } = call;
  const request = {
    method,
    path,
    ...(Object.keys(query).length > 0 && { query }),
    ...(body !== undefined && { body }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(isAdmin && { admin: true }),
  };
  const expression = METHODS[operationId]?.(values, call) ?? `send(${literal(request)})`;
  return [
    "import { createLaurel } from 'laurel-client';",
    '',
    `const laurel = createLaurel({ ${options}, key: process.env.LAUREL_KEY! });`,
    `const answer = await laurel.${expression};`,
    'console.log(answer);',
  ].join('\n');
}
