import { openapiDocument } from '../../operations/openapi.ts';
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
  isIdempotent: boolean;
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
  'admin_session_get',
  'admin_session_create',
  'admin_session_delete',
  'live_tickets_create',
  'admin_live_tickets_create',
  'admin_metrics_batch_events',
  'admin_imports_create',
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
    isIdempotent: operation.idempotent,
    changes,
  };
}

/** The tools of some operations, derived from the OpenAPI documents. */
export function toolsOf(operations: readonly Operation[]): Tool[] {
  return (['admin', 'application'] as const).flatMap((surface) => {
    const those = operations.filter((one) => one.surface === surface);
    const { paths } = openapiDocument(surface, those) as { paths: Record<string, Record<string, Documented>> };
    return those.filter(isTool).map((operation) => toolOf(operation, paths[operation.path]![operation.method]!));
  });
}
