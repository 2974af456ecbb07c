import { openapiPaths } from '../../operations/openapi.ts';
import type { Operation } from '../../operations/operation.ts';

/** What an operation does with its arguments. */
export interface Tool {
  operation: Operation;
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object'; properties: Record<string, object>; required: string[]; additionalProperties: false };
  /** Names of arguments by where they are sent. */
  path: readonly string[];
  query: readonly string[];
  hasBody: boolean;
  /** Whether it changes something: then a first call only shows what it would change. */
  changes: boolean;
}

/**
 * Not for an assistant. Answers with a secret would be in the conversation for good; sessions and streams belong to a connection;
 * batches and imports are for files.
 */
const EXCLUDED: ReadonlySet<string> = new Set([
  'admin_admin_api_keys_create',
  'admin_admin_api_keys_rotate',
  'admin_application_api_keys_create',
  'admin_webhooks_create',
  'admin_webhooks_rotate_secret',
  'admin_messages_feedback_put',
  'admin_session_get',
  'admin_session_create',
  'admin_session_delete',
  'live_tickets_create',
  'admin_live_tickets_create',
  'admin_metrics_batch_events',
  'admin_imports_create',
]);

/** The tools that find and call any operation. */
export const FIND_OPERATION = 'find_operation';
export const CALL_OPERATION = 'call_operation';

/**
 * The operations that are listed as tools; `call_operation` reaches all. Few, because every conversation begins with the
 * whole list.
 */
export const LISTED: ReadonlySet<string> = new Set([
  // Users: find, read, explain.
  'admin_users_list',
  'admin_users_filtered',
  'users_get',
  'users_all_metrics',
  'users_achievements',
  'users_points',
  'users_streak',
  'users_leaderboard',
  'admin_users_timeline',
  // The configuration: read, preview, change.
  'admin_configuration_get',
  'admin_configuration_diff',
  'admin_configuration_put',
  'admin_achievements_list',
  'admin_achievements_get',
  'admin_achievements_preview',
  'admin_achievements_create',
  // How it goes, and what to do next.
  'admin_attention_list',
  'admin_advice_list',
  'leaderboards_get',
  'admin_activity_get',
  'admin_analytics_users',
  'admin_analytics_metrics',
  'admin_audit_log_list',
  'admin_system_get',
  // Events.
  'metrics_event',
  'admin_events_reverse_one',
]);

const isTool = ({ id, opensStream, file }: Operation): boolean => !EXCLUDED.has(id) && !opensStream && file === null;

/** Whether the operation changes something: read-only keys may not call it. */
const isChange = ({ keyScopes }: Operation): boolean => !keyScopes.includes('read');

const CHANGES =
  'It changes something, so the first call only answers what it would change, with a code. Show that to the user, and call again with the same arguments and the code as `confirm`.';

interface Documented {
  summary: string;
  description?: string;
  parameters: { name?: string; in: 'path' | 'query'; required: boolean; description?: string; schema: object }[];
  requestBody?: { required: boolean; content: { 'application/json': { schema: object } } };
}

/** Examples would make the list of tools longer than they are useful. */
const withoutExamples = (schema: object): object =>
  JSON.parse(JSON.stringify(schema, (name, value: unknown) => (name === 'examples' ? undefined : value))) as object;

function toolOf(operation: Operation, { summary, description = '', parameters, requestBody }: Documented): Tool {
  const own = parameters.filter(({ name }) => name !== undefined);
  const names = (place: string): string[] => own.filter((one) => one.in === place).map(({ name }) => name!);
  const changes = isChange(operation);
  const properties: Record<string, object> = {};
  for (const { name, description: text, schema } of own) properties[name!] = { ...schema, description: text };
  if (requestBody) properties['body'] = withoutExamples(requestBody.content['application/json'].schema);
  if (operation.idempotent)
    properties['idempotencyKey'] = {
      type: 'string',
      description: 'A repeated call with the same key changes nothing.',
    };
  if (changes) properties['confirm'] = { type: 'string', description: 'The code that the first call answered.' };
  return {
    operation,
    name: operation.id,
    title: summary,
    description: [`${summary}.`, description, changes ? CHANGES : ''].filter(Boolean).join('\n\n'),
    inputSchema: {
      type: 'object',
      properties,
      required: [
        ...own.filter(({ required }) => required).map(({ name }) => name!),
        ...(requestBody?.required ? ['body'] : []),
      ],
      additionalProperties: false,
    },
    path: names('path'),
    query: names('query'),
    hasBody: requestBody !== undefined,
    changes,
  };
}

/** The tools of some operations, derived from the OpenAPI documents. */
export function toolsOf(operations: readonly Operation[]): Tool[] {
  return (['admin', 'application'] as const).flatMap((surface) => {
    const ofSurface = operations.filter((one) => one.surface === surface);
    const paths = openapiPaths(ofSurface) as Record<string, Record<string, Documented>>;
    return ofSurface.filter(isTool).map((operation) => toolOf(operation, paths[operation.path]![operation.method]!));
  });
}

/** Maximum characters of the schema of a body in the list of tools. */
const MOST_LISTED = 1_200;

type Schema = Readonly<Record<string, unknown>>;

/** What the outline of a body has about each of its fields. */
const OUTLINE_OF_FIELD: ReadonlySet<string> = new Set(['type', 'enum', 'required']);

/** The schema of a body with its fields, and nothing below these. */
function outlineOf({ type, items, properties = {}, required }: Schema): Schema {
  if (type === 'array') return { type, items: outlineOf(items as Schema) };
  const fields = Object.entries(properties as Record<string, Schema>).map(([name, field]) => [
    name,
    Object.fromEntries(Object.entries(field).filter(([keyword]) => OUTLINE_OF_FIELD.has(keyword))),
  ]);
  return { type, properties: Object.fromEntries(fields) as Schema, ...(required !== undefined && { required }) };
}

const OUTLINED = `This is an outline. ${FIND_OPERATION} with the name of this tool as operation answers all fields.`;

/** A tool as the list of tools has it. Large schemas of bodies are outlined: calls are checked against the whole schema. */
export function listedTool({ name, title, description, inputSchema, changes, operation: { method } }: Tool): object {
  const { body } = inputSchema.properties;
  const isLarge = body !== undefined && JSON.stringify(body).length > MOST_LISTED;
  const outline = isLarge && { body: { ...outlineOf(body as Schema), description: OUTLINED } };
  return {
    name,
    title,
    description,
    inputSchema: { ...inputSchema, properties: { ...inputSchema.properties, ...outline } },
    annotations: { readOnlyHint: !changes, destructiveHint: changes && method !== 'get', openWorldHint: false },
  };
}

/** The tools that find and call operations. `isReader`: the key can only read. */
export const operationTools = ({ isReader }: { isReader: boolean }): object[] => [
  {
    name: FIND_OPERATION,
    title: 'Find any operation of Laurel',
    description:
      'Laurel has many more operations than there are tools, for example for leaderboards, webhooks, streaks, quarantine, jobs and keys. ' +
      `With query: up to 12 operations that fit the words. With operation: one, with the schema of its arguments for ${CALL_OPERATION}. Without both: the IDs of all.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', maxLength: 200, description: 'Words, such as "pause streak".' },
        operation: { type: 'string', description: 'The ID of an operation.' },
      },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: CALL_OPERATION,
    title: 'Call any operation of Laurel',
    description: `Calls an operation that ${FIND_OPERATION} found, with the arguments that it described.${isReader ? '' : ` For an operation with changes: ${CHANGES}`}`,
    inputSchema: {
      type: 'object',
      properties: {
        operation: { type: 'string', description: 'The ID of the operation.' },
        arguments: { type: 'object', description: 'The arguments of the operation.' },
        ...(!isReader && { confirm: { type: 'string', description: 'The code that the first call answered.' } }),
      },
      required: ['operation'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: isReader, destructiveHint: !isReader, openWorldHint: false },
  },
];
