// Writes src/generated.ts: the types of the client, with a name for each schema, from Laurel's OpenAPI documents, in which
// schemas have no names. `--check` writes nothing and fails if the file is not current.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';
import process from 'node:process';
import { build } from '../../src/cli/build.mjs';

// The generator prints with the compiler's library, which the current compiler no longer includes.
const redirect = `export const resolve = (name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context);`;
register(`data:text/javascript,${encodeURIComponent(redirect)}`);

/**
 * The name of each schema, and its place: an operation, `body`, `query` or a status, and the fields from there; `[]` is the
 * item of a list, `{}` the value of a map. An equal schema at another place gets the same name.
 */
const NAMES = {
  EventResult: 'metrics_event 201',
  EventRequest: 'metrics_event body',
  CompletedAchievement: 'metrics_event 201 achievements []',
  AttributeValue: 'metrics_event 201 achievements [] userAttributes []',
  QuestProgress: 'metrics_event 201 achievementProgress []',
  QuestPeriod: 'metrics_event 201 achievementProgress [] period',
  EventStreak: 'metrics_event 201 currentStreak',
  EventPoints: 'metrics_event 201 points {}',
  EventLeaderboard: 'metrics_event 201 leaderboards {}',
  Achievement: 'achievements_all 200 []',
  AchievementCompletion: 'achievements_complete 201',
  UserRequest: 'users_create body',
  UserChanges: 'users_update body',
  User: 'users_get 200',
  ChangedUser: 'users_create 201',
  Preferences: 'users_get_preferences 200',
  PreferencesChanges: 'users_update_preferences body',
  UserAchievement: 'users_achievements 200 []',
  UserMetric: 'users_single_metric 200',
  SummaryQuery: 'users_metric_event_summary query',
  SummaryEntry: 'users_metric_event_summary 200 []',
  Streak: 'users_streak 200',
  StreakLength: 'streaks_list 200 []',
  StreakRankingsQuery: 'streaks_rankings query',
  StreakRanking: 'streaks_rankings 200 []',
  UserPoints: 'users_points 200',
  PointsAward: 'users_points 200 awards []',
  PointsLevel: 'points_levels 200 []',
  PointsTrigger: 'points_system 200 triggers []',
  PointsBoost: 'users_points_boosts 200 []',
  PointsSystem: 'points_system 200',
  PointsRange: 'points_summary 200 []',
  PointsLevelUsers: 'points_level_summary 200 []',
  SpendRequest: 'spendings_spend body',
  HoldRequest: 'spendings_hold body',
  BalanceChange: 'spendings_spend 201',
  UserReward: 'users_rewards 200 []',
  Claim: 'rewards_claim 201',
  ClaimsQuery: 'users_claims query',
  ClaimsPage: 'users_claims 200',
  Leaderboard: 'leaderboards_all 200 []',
  LeaderboardQuery: 'leaderboards_get query',
  LeaderboardPage: 'leaderboards_get 200',
  Ranking: 'leaderboards_get 200 rankings []',
  RankingsAmongRequest: 'leaderboards_rankings body',
  TeamsQuery: 'leaderboards_teams query',
  TeamsPage: 'leaderboards_teams 200',
  TeamRanking: 'leaderboards_teams 200 rankings []',
  UserLeaderboardQuery: 'users_leaderboard query',
  UserLeaderboard: 'users_leaderboard 200',
  RankHistoryEntry: 'users_leaderboard 200 history []',
  Wrapped: 'users_wrapped 200',
  WrappedMetric: 'users_wrapped 200 activity mostActiveDay metrics {}',
  WrappedPoints: 'users_wrapped 200 activity mostActiveDay points {}',
  WrappedLeaderboard: 'users_wrapped 200 activity mostActiveDay leaderboards {}',
  LiveTicketRequest: 'live_tickets_create body',
  LiveTicket: 'live_tickets_create 201',
  BatchEvent: 'admin_metrics_batch_events body []',
  BatchResults: 'admin_metrics_batch_events 200',
  BatchResult: 'admin_metrics_batch_events 200 results []',
  UserKeyRequest: 'admin_application_api_keys_create body []',
  UserKey: 'admin_application_api_keys_create 201 created []',
};

if (!build()) process.exit(1);
const { openapiDocument } = await import('../../dist/src/operations/openapi.js');
const { adminOperations, applicationOperations } = await import('../../dist/src/operations/index.js');
const { errorCodes } = await import('../../dist/src/errors.js');

const application = openapiDocument('application', applicationOperations);
const admin = openapiDocument('admin', adminOperations);

const operations = new Map(
  [application, admin]
    .flatMap(({ paths }) => Object.values(paths))
    .flatMap((methods) => Object.values(methods))
    .map((operation) => [operation.operationId, operation]),
);

const content = ({ content: types }) => types['application/json'].schema;

/** The query parameters as one schema. */
function querySchema({ parameters }) {
  const inQuery = parameters.filter(({ in: place }) => place === 'query');
  return {
    type: 'object',
    required: inQuery.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(inQuery.map(({ name, schema, description }) => [name, { ...schema, description }])),
  };
}

function schemaAt(place) {
  const [id, part, ...fields] = place.split(' ');
  const operation = operations.get(id);
  if (operation === undefined) throw new Error(`There is no operation ${id}.`);
  let schema;
  if (part === 'query') schema = querySchema(operation);
  else schema = content(part === 'body' ? operation.requestBody : operation.responses[part]);
  for (const field of fields) {
    if (field === '[]') schema = schema.items;
    else if (field === '{}') schema = schema.additionalProperties;
    else schema = schema.properties[field];
    if (schema === undefined) throw new Error(`There is no ${field} in ${place}.`);
  }
  return schema;
}

const PRINTED = new Set(['description', 'examples', 'example', 'default']);
const isAnnotation = (name, value) => name.startsWith('x-') || (PRINTED.has(name) && typeof value !== 'object');

/** Equal for schemas that accept the same, regardless of their texts. */
const fingerprint = (schema) =>
  JSON.stringify(schema, (name, value) => (isAnnotation(name, value) || name === 'examples' ? undefined : value));

/** `points.changed` is `PointsChanged`. */
const messageName = (type) =>
  type
    .split(/[._]/)
    .map((word) => word[0].toUpperCase() + word.slice(1))
    .join('');
const messages = Object.entries(application.webhooks).map(([type, { post }]) => [type, content(post.requestBody)]);

const named = Object.entries(NAMES).map(([name, place]) => [name, schemaAt(place)]);
for (const [type, schema] of messages) named.push([messageName(type), schema]);
const byFingerprint = new Map();
for (const [name, schema] of named) {
  const other = byFingerprint.get(fingerprint(schema));
  if (other !== undefined) throw new Error(`${name} and ${other} are the same schema.`);
  byFingerprint.set(fingerprint(schema), name);
}

/** The schema without what its types do not show, and with references to named schemas inside it. */
function referring(value) {
  if (Array.isArray(value)) return value.map(referring);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => !name.startsWith('x-') && name !== 'examples');
  return Object.fromEntries(entries.map(([name, inner]) => [name, reference(inner) ?? referring(inner)]));
}
function reference(value) {
  if (typeof value !== 'object' || value === null) return undefined;
  const name = byFingerprint.get(fingerprint(value));
  return name === undefined ? undefined : { $ref: `#/components/schemas/${name}`, description: value.description };
}

const schemas = Object.fromEntries(named.map(([name, schema]) => [name, referring(schema)]));
schemas.Messages = {
  type: 'object',
  description: 'The content of webhooks and live messages, by their types.',
  required: messages.map(([type]) => type),
  properties: Object.fromEntries(
    messages.map(([type]) => [type, { $ref: `#/components/schemas/${messageName(type)}` }]),
  ),
};
schemas.ErrorCode = {
  description: "The codes of Laurel's errors. There may be more of them later.",
  enum: errorCodes,
};
const document = JSON.stringify({ openapi: '3.1.0', info: application.info, paths: {}, components: { schemas } });

const FILE = new URL('src/generated.ts', import.meta.url);
const digest = (...texts) => texts.reduce((hash, text) => hash.update(text), createHash('sha256')).digest('hex');
const inputs = digest(document, readFileSync(new URL(import.meta.url)));
/** The first lines name the digests of what the types were made from, and of the types, so that a check is quick. */
const head = (types) => `// Made by generate.mjs; do not edit.
// ${inputs}
// ${digest(types)}

`;

if (process.argv.includes('--check')) {
  const text = readFileSync(FILE, 'utf8');
  const isCurrent = text.startsWith(head(text.split('\n').slice(4).join('\n')));
  if (!isCurrent) process.stderr.write('src/generated.ts is not current: node clients/typescript/generate.mjs\n');
  process.exit(isCurrent ? 0 : 1);
}

/** Interfaces of the schemas, instead of one that has them as fields: a reader sees their names in errors and hints. */
async function typesOf(source) {
  const { default: openapiTypes, astToString } = await import('openapi-typescript');
  const { default: ts } = await import('typescript-5');
  const nodes = await openapiTypes(source, { silent: true, defaultNonNullable: false });
  const components = nodes.find((node) => node.name?.text === 'components');
  const members = components.members.find((member) => member.name.text === 'schemas').type.members;
  const exported = [ts.factory.createModifier(ts.SyntaxKind.ExportKeyword)];
  const declared = members.map((member) => {
    const { name, type } = member;
    const declaration = ts.isTypeLiteralNode(type)
      ? ts.factory.createInterfaceDeclaration(exported, name.text, undefined, undefined, type.members)
      : ts.factory.createTypeAliasDeclaration(exported, name.text, undefined, type);
    const comments = ts.getSyntheticLeadingComments(member);
    return comments === undefined ? declaration : ts.setSyntheticLeadingComments(declaration, comments);
  });
  return declared
    .map((declaration) => astToString([declaration]).trim())
    .join('\n\n')
    .replaceAll(/components\["schemas"\]\["(\w+)"\]/g, '$1')
    .replaceAll(/^ +\* (?:Format: |@enum |@constant).*\n/gm, '')
    .replaceAll(/^ *\/\*\*\n *\*\/\n/gm, '')
    .replaceAll('@description ', '')
    .replaceAll(/\/\*\*\n *\* (.+)\n *\*\//g, '/** $1 */')
    .replaceAll(/^(?: {4})+/gm, (indent) => indent.slice(indent.length / 2))
    .concat('\n');
}

const types = await typesOf(document);
writeFileSync(FILE, head(types) + types);
