// Writes src/generated.ts: the types of the client, from the named schemas of Laurel's OpenAPI documents. `--check` writes
// nothing and fails if the file is not current.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';
import process from 'node:process';
import { build } from '../../src/cli/build.mjs';

// The generator prints with the compiler's library, which the current compiler no longer includes.
const redirect = `export const resolve = (name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context);`;
register(`data:text/javascript,${encodeURIComponent(redirect)}`);

/** The schemas of the Admin API that the client uses; of the Application API it has all. */
const OF_ADMIN = ['BatchEvent', 'BatchResults', 'UserKeyRequest', 'UserKey'];

/** Names of the query parameters of operations, as one type. */
const QUERIES = {
  SummaryQuery: 'users_metric_event_summary',
  StreakRankingsQuery: 'streaks_rankings',
  LeaderboardQuery: 'leaderboards_get',
  TeamsQuery: 'leaderboards_teams',
  UserLeaderboardQuery: 'users_leaderboard',
  ClaimsQuery: 'users_claims',
};

if (!build()) process.exit(1);
const { openapiDocument } = await import('../../dist/src/operations/openapi.js');
const { adminOperations, applicationOperations } = await import('../../dist/src/operations/index.js');
const { errorCodes } = await import('../../dist/src/errors.js');

const application = openapiDocument('application', applicationOperations);
const admin = openapiDocument('admin', adminOperations);

/** The query parameters as one schema. */
function querySchema(operationId) {
  const operations = Object.values(application.paths).flatMap((methods) => Object.values(methods));
  const inQuery = operations
    .find((operation) => operation.operationId === operationId)
    .parameters.filter(({ in: place }) => place === 'query');
  return {
    type: 'object',
    required: inQuery.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(inQuery.map(({ name, schema, description }) => [name, { ...schema, description }])),
  };
}

/** Without what types do not show. */
const shown = (schema) =>
  JSON.parse(JSON.stringify(schema), (name, value) =>
    name.startsWith('x-') || (name === 'examples' && Array.isArray(value)) ? undefined : value,
  );

const schemas = shown(application.components.schemas);
/** Adds a schema of the Admin API, with those that it refers to. */
function add(name) {
  if (name in schemas) return;
  schemas[name] = shown(admin.components.schemas[name]);
  for (const [, other] of JSON.stringify(schemas[name]).matchAll(/"#\/components\/schemas\/(\w+)"/g)) add(other);
}
for (const name of OF_ADMIN) add(name);
for (const [name, operationId] of Object.entries(QUERIES)) schemas[name] = shown(querySchema(operationId));
const messages = Object.entries(application.webhooks).map(([type, { post }]) => [
  type,
  post.requestBody.content['application/json'].schema,
]);
schemas.Messages = {
  type: 'object',
  description: 'The content of webhooks and live messages, by their types.',
  required: messages.map(([type]) => type),
  properties: Object.fromEntries(messages.map(([type, { $ref }]) => [type, { $ref }])),
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
