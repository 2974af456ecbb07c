import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FixedClock } from '../../src/clock.ts';
import { LISTED } from '../../src/http/mcp/tools.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
import { opened } from '../stack/opened.ts';

let readKey: string;
const clients: Client[] = [];
const laurel = opened(() => startLaurel({ workers: true }));
beforeAll(async () => {
  const made = await laurel.admin.post('/v1/admin-api-keys', [{ name: 'reader', access: 'read' }]);
  readKey = made.body.created[0].key;
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
});

interface Result {
  isError?: boolean;
  content: { type: string; text: string }[];
}

/** A client of the SDK, with what its tools answer as parsed JSON. */
async function connect(key = laurel.adminKey, { of = laurel, tenant }: { of?: TestLaurel; tenant?: string } = {}) {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${of.adminUrl}/mcp`), {
    requestInit: { headers: { 'X-API-KEY': key, ...(tenant !== undefined && { 'Tenant-ID': tenant }) } },
  });
  // The SDK's own types disagree under exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client['connect']>[0]);
  clients.push(client);
  return { client, ...using(client) };
}

function using(client: Client) {
  const use = async (name: string, args: object = {}) => {
    const { isError = false, content } = (await client.callTool({ name, arguments: { ...args } })) as Result;
    // oxlint-disable-next-line typescript/no-explicit-any -- answers of any operation
    return { isError, answer: JSON.parse(content[0]!.text) as any };
  };
  /** Sees what a change would do, and does it. */
  const change = async (name: string, args: object) => {
    const preview = await use(name, args);
    if (preview.isError) return { preview, done: preview };
    return { preview, done: await use(name, { ...args, confirm: preview.answer.confirm }) };
  };
  return { use, change };
}

const calls = async () => {
  const { body } = await laurel.admin.get('/v1/audit-log?kind=tool&limit=100');
  return body.map(({ name, action, userId, after }: Record<string, unknown>) => ({ name, action, userId, after }));
};

describe('a conversation', () => {
  test('why did ada not get the achievement?', async () => {
    const { use } = await connect();
    const [metric] = (await laurel.admin.post('/v1/metrics', [{ key: 'laps', name: 'Laps' }])).body.created;
    const ten = {
      key: 'ten',
      name: 'Ten laps',
      trigger: 'metric',
      metricId: metric.id,
      metricValue: 10,
      status: 'active',
    };
    await laurel.admin.post('/v1/achievements', [ten]);
    await laurel.app.post('/v1/metrics/laps/event', { user: { id: 'ada' }, value: 4 });

    const { answer: hers } = await use('users_achievements', { id: 'ada', includeIncomplete: 'true' });
    expect(hers).toMatchObject([{ key: 'ten', achievedAt: null, metricValue: 10 }]);
    const { answer: total } = await use('users_single_metric', { id: 'ada', key: 'laps' });
    expect(total.current).toBe(4);
    const { answer: timeline } = await use('admin_users_timeline', { id: 'ada', kind: 'event' });
    expect(timeline.entries).toMatchObject([{ kind: 'event', value: 4, total: 4 }]);

    // The audit log has each question and the user that it names.
    const about = (await calls()).filter(({ userId }: { userId: string | null }) => userId === 'ada');
    expect(about.map(({ name }: { name: string }) => name)).toEqual([
      'admin_users_timeline',
      'users_single_metric',
      'users_achievements',
    ]);
    expect(about[0]).toMatchObject({ action: 'call', after: { outcome: 'read', arguments: ['id', 'kind'] } });
    // They changed nothing.
    expect((await laurel.admin.get('/v1/audit-log?userId=ada&changes=true')).body).toEqual([]);
    const { body } = await laurel.admin.get('/v1/users/ada/timeline');
    expect(body.entries.map(({ kind }: { kind: string }) => kind)).toEqual(['event', 'user_creation']);
  });

  test('draft a points system, make it, and undo it', async () => {
    const { use, change } = await connect();
    const args = { body: [{ key: 'xp', name: 'XP', levels: [{ key: 'pro', name: 'Pro', points: 100 }] }] };
    const systems = async (): Promise<unknown[]> => (await laurel.admin.get('/v1/points')).body;

    const draft = await use('admin_points_systems_create', args);
    expect(draft.answer.wouldAnswer).toMatchObject({ created: [{ key: 'xp', levels: [{ key: 'pro' }] }], issues: [] });
    expect(draft.answer.next).toContain('Nothing has been changed');
    expect(await systems()).toEqual([]);

    // The code is for these arguments only.
    const { confirm } = draft.answer;
    const other = await use('admin_points_systems_create', { body: [{ key: 'gold', name: 'Gold' }], confirm });
    expect(other).toMatchObject({ isError: true, answer: { code: 'conflict' } });
    expect(await systems()).toEqual([]);

    const made = await use('admin_points_systems_create', { ...args, confirm });
    expect(made).toMatchObject({ isError: false, answer: { status: 201, answer: { created: [{ key: 'xp' }] } } });
    expect(await systems()).toMatchObject([{ key: 'xp' }]);

    const { undo } = made.answer;
    const undone = await change(undo.tool, undo.arguments);
    expect(undone.preview.answer.wouldAnswer.deleted).toHaveLength(1);
    expect(undone.done.answer.answer.deleted).toHaveLength(1);
    expect(await systems()).toEqual([]);

    const outcomes = (await calls()).filter(({ name }: { name: string }) => name.startsWith('admin_points'));
    expect(outcomes.map(({ after }: { after: { outcome: string } }) => after.outcome)).toEqual([
      'changed',
      'previewed',
      'changed',
      'refused',
      'previewed',
    ]);
    // The change itself is recorded as one by the Admin API.
    const changes = (await laurel.admin.get('/v1/audit-log?kind=points_system')).body;
    expect(changes.map(({ action }: { action: string }) => action)).toEqual(['delete', 'create']);
  });

  test('an update is undone with the values before, an event by its reversal, a document by the previous one', async () => {
    const { use, change } = await connect();
    const [metric] = (await laurel.admin.post('/v1/metrics', [{ key: 'steps', name: 'Steps' }])).body.created;
    const renamed = await change('admin_metrics_update', { body: [{ id: metric.id, name: 'Paces' }] });
    expect(renamed.done.answer.answer.updated).toMatchObject([{ name: 'Paces' }]);
    await change(renamed.done.answer.undo.tool, renamed.done.answer.undo.arguments);
    expect((await use('admin_metrics_get', { id: metric.id })).answer.name).toBe('Steps');

    const sent = await change('metrics_event', {
      key: 'steps',
      body: { user: { id: 'bob' }, value: 7 },
      idempotencyKey: 'bob-1',
    });
    expect(sent.preview.answer).toMatchObject({
      wouldDo: expect.any(String),
      request: { path: '/v1/metrics/{key}/event' },
    });
    expect(sent.done.answer.answer.total).toBe(7);
    const { undo } = sent.done.answer;
    const reversal = await change(undo.tool, undo.arguments);
    expect(reversal.preview.answer.wouldAnswer).toMatchObject({ status: 'reversed', dryRun: true, total: 0 });
    expect(reversal.done.answer.answer).toMatchObject({ status: 'reversed', dryRun: false, total: 0 });
    expect((await use('users_single_metric', { id: 'bob', key: 'steps' })).answer.current).toBe(0);

    const { answer: document } = await use('admin_configuration_get');
    const more = { ...document, attributes: [{ key: 'plan', name: 'Plan', type: 'user' }] };
    const applied = await change('admin_configuration_put', { body: more });
    expect(applied.preview.answer.wouldAnswer.changes).toMatchObject([{ action: 'create', kind: 'attribute' }]);
    await change('admin_configuration_put', applied.done.answer.undo.arguments);
    expect((await use('admin_configuration_get')).answer).toEqual(document);
  });
});

describe('the code that confirms a change', () => {
  const NOW = Date.UTC(2026, 10, 18, 12);
  const clock = new FixedClock(NOW);
  const name = 'admin_metrics_create';
  const args = { body: [{ key: 'laps', name: 'Laps' }] };
  let many: TestLaurel;
  beforeAll(async () => {
    many = await startLaurel({ clock });
    await many.admin.patch('/v1/organisation', { multiTenancy: true });
    await many.admin.post('/v1/tenants', [
      { name: 'A', customerId: 'a' },
      { name: 'B', customerId: 'b' },
    ]);
  });
  afterAll(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await many.close();
  });

  test('cannot be computed from the arguments', async () => {
    const { use } = await connect(many.adminKey, { of: many, tenant: 'a' });
    const text = JSON.stringify([name, { body: [{ key: 'laps', name: 'Laps' }] }]);
    const computed = createHash('sha256').update(text).digest('hex').slice(0, 12);
    const now = NOW.toString(36);
    for (const confirm of [computed, `${now}-${computed}`, now, `${now}-`, '-', '', '0'])
      expect(await use(name, { ...args, confirm })).toMatchObject({ isError: true, answer: { code: 'conflict' } });
    for (const confirm of [{ toString: 1 }, null, 12])
      expect(await use(name, { ...args, confirm })).toMatchObject({
        isError: true,
        answer: { code: 'invalid', error: 'confirm must be a string' },
      });
    expect((await use('admin_metrics_list')).answer).toEqual([]);
  });

  test('is of one key and one tenant', async () => {
    const made = await many.admin.post('/v1/admin-api-keys', [{ name: 'another' }]);
    const ofA = await connect(many.adminKey, { of: many, tenant: 'a' });
    const ofB = await connect(many.adminKey, { of: many, tenant: 'b' });
    const another = await connect(made.body.created[0].key, { of: many, tenant: 'a' });
    const { confirm } = (await ofA.use(name, args)).answer;
    for (const { use } of [ofB, another])
      expect(await use(name, { ...args, confirm })).toMatchObject({ isError: true, answer: { code: 'conflict' } });
    expect((await ofB.use('admin_metrics_list')).answer).toEqual([]);
    expect((await ofA.use('admin_metrics_list')).answer).toEqual([]);
  });

  test('is valid for ten minutes, in every frontend', async () => {
    const { use } = await connect(many.adminKey, { of: many, tenant: 'a' });
    const { confirm } = (await use(name, args)).answer;
    clock.set(NOW + 600_001);
    const late = await use(name, { ...args, confirm });
    expect(late).toMatchObject({ isError: true, answer: { code: 'conflict' } });
    expect(late.answer.error).toContain('older than 10 minutes');
    clock.set(NOW + 600_000);
    const second = await many.another();
    try {
      const elsewhere = await connect(many.adminKey, { of: { ...many, adminUrl: second.adminUrl }, tenant: 'a' });
      expect(await elsewhere.use(name, { ...args, confirm })).toMatchObject({
        isError: false,
        answer: { status: 201 },
      });
    } finally {
      await Promise.all(clients.splice(0).map((client) => client.close()));
      await second.close();
    }
  });
});

describe('the tools', () => {
  /** Answers a secret, opens a stream, or is for programs; or needs the test clock, which this Laurel does not have. */
  const WITHOUT_TOOL = new Set([
    'admin_admin_api_keys_create',
    'admin_admin_api_keys_rotate',
    'admin_application_api_keys_create',
    'admin_clock_delete',
    'admin_clock_get',
    'admin_clock_put',
    'admin_configuration_schema_get',
    'admin_imports_create',
    'admin_live_get',
    'admin_live_tickets_create',
    'admin_live_ws',
    'admin_messages_feedback_put',
    'admin_metrics_batch_events',
    'admin_openapi_get',
    'admin_session_create',
    'admin_session_delete',
    'admin_session_get',
    'admin_webhooks_create',
    'admin_webhooks_rotate_secret',
    'live_get',
    'live_tickets_create',
    'live_ws',
    'openapi_get',
  ]);
  const operations = [...adminOperations, ...applicationOperations].map(({ id }) => id);

  test('are few, and their list is short', async () => {
    const { client } = await connect();
    const { tools } = await client.listTools();
    expect(Buffer.byteLength(JSON.stringify({ tools }))).toBeLessThan(30_000);
    expect(tools.map(({ name }) => name).toSorted()).toEqual(
      ['call_operation', 'find_operation', ...LISTED].toSorted(),
    );
    const event = tools.find(({ name }) => name === 'metrics_event')!;
    expect(event.inputSchema.required).toEqual(['key', 'body']);
    expect(event.annotations).toMatchObject({ readOnlyHint: false });
    expect(event.description).toContain('the first call only answers what it would change');
    expect(event.inputSchema.properties).toMatchObject({ body: { properties: { user: { required: ['id'] } } } });
  });

  test('find_operation knows every operation, except those that answer a secret or open a stream', async () => {
    const { use } = await connect();
    const { ids } = (await use('find_operation')).answer;
    expect(ids.toSorted()).toEqual(operations.filter((id) => !WITHOUT_TOOL.has(id)).toSorted());
    const { answer } = await use('find_operation', { operation: 'metrics_event' });
    expect(answer).toMatchObject({ changes: true, inputSchema: { required: ['key', 'body'] } });
    // The whole schema, not the outline of the list.
    expect(Object.keys(answer.inputSchema.properties.body.properties.user.properties)).toContain('tz');
  });

  test('call_operation reaches each of them, and checks its arguments', async () => {
    const { use } = await connect();
    for (const operation of operations) {
      const { isError, answer } = await use('call_operation', { operation, arguments: { colour: 'red' } });
      expect({ operation, isError, error: answer.error }).toEqual({
        operation,
        isError: true,
        error: WITHOUT_TOOL.has(operation)
          ? `There is no operation ${operation} for this key`
          : 'colour is not an argument of this tool',
      });
    }
    const boards = await use('call_operation', { operation: 'admin_leaderboards_list' });
    expect(boards).toEqual({ isError: false, answer: [] });
  });

  test.each([
    ['pause a streak', 'admin_streaks_pauses_create'],
    ['why did the webhook fail', 'admin_webhooks_state'],
    ['retenton', 'admin_analytics_retention'],
    ['release events from quarantine', 'admin_quarantine_release'],
    ['expiresAfterDays', 'admin_points_systems_create'],
  ])('find_operation finds %s', async (query, first) => {
    const { use } = await connect();
    const { operations: found } = (await use('find_operation', { query })).answer;
    expect(found.length).toBeLessThanOrEqual(12);
    expect(found.slice(0, 3).map(({ operation }: { operation: string }) => operation)).toContain(first);
  });

  test('find_operation and call_operation say what is wrong with arguments', async () => {
    const { use } = await connect();
    const wrong = [
      await use('find_operation', { query: 'x'.repeat(201) }),
      await use('find_operation', { query: 'jobs', operation: 'admin_jobs_list' }),
      await use('find_operation', { word: 'jobs' }),
      await use('call_operation', {}),
      await use('call_operation', { operation: 'admin_jobs_lists' }),
      await use('call_operation', { operation: 'call_operation' }),
      await use('call_operation', { operation: 'admin_jobs_list', arguments: [] }),
      await use('call_operation', { operation: 'admin_jobs_list', limit: 1 }),
    ];
    expect(wrong.map(({ isError, answer }) => [isError, answer.code, answer.error])).toEqual([
      [true, 'invalid', 'query must be text of at most 200 characters'],
      [true, 'invalid', 'Give query or operation, not both'],
      [true, 'invalid', 'word is not an argument of this tool'],
      [true, 'invalid', 'operation must be the ID of an operation'],
      [true, 'not_found', 'There is no operation admin_jobs_lists for this key'],
      [true, 'not_found', 'There is no operation call_operation for this key'],
      [true, 'invalid', 'arguments must be an object: the arguments of the operation'],
      [true, 'invalid', 'limit is not an argument of this tool'],
    ]);
    expect(wrong[4]!.answer.hint).toBe("Did you mean 'admin_jobs_list'?");
  });

  test('a change through call_operation needs the code of its preview, and is recorded like any other', async () => {
    const { use } = await connect();
    const attributes = async (): Promise<unknown[]> => (await laurel.admin.get('/v1/attributes')).body;
    const operation = 'admin_attributes_create';
    const call = { operation, arguments: { body: [{ key: 'plan', name: 'Plan', type: 'user' }] } };
    const preview = await use('call_operation', call);
    expect(preview.answer.wouldAnswer).toMatchObject({ created: [{ key: 'plan' }] });
    const { confirm } = preview.answer;
    expect(await use('call_operation', { ...call, confirm: `${confirm}x` })).toMatchObject({ isError: true });
    const others = { ...call, arguments: { body: [{ key: 'tier', name: 'Tier', type: 'user' }] } };
    expect(await use('call_operation', { ...others, confirm })).toMatchObject({
      isError: true,
      answer: { code: 'conflict' },
    });
    expect(await attributes()).toEqual([]);

    const done = await use('call_operation', { ...call, confirm });
    expect(done).toMatchObject({ isError: false, answer: { status: 201 } });
    expect(await attributes()).toMatchObject([{ key: 'plan' }]);
    const own = (await calls()).filter(({ name }: { name: string }) => name === operation);
    const outcomes = own.map(({ after }: { after: { outcome: string } }) => after.outcome);
    expect(outcomes.slice(0, 4)).toEqual(['changed', 'refused', 'refused', 'previewed']);

    // The undo names a tool of the list.
    const { undo } = done.answer;
    expect(undo).toMatchObject({ tool: 'call_operation', arguments: { operation: 'admin_attributes_delete' } });
    const undoing = await use(undo.tool, undo.arguments);
    expect(await attributes()).toHaveLength(1);
    const undone = { ...undo.arguments, arguments: { ...undo.arguments.arguments, confirm: undoing.answer.confirm } };
    expect((await use(undo.tool, undone)).isError).toBe(false);
    expect(await attributes()).toEqual([]);
  });

  test('of a read-only key only read, and it cannot use another', async () => {
    const { client, use } = await connect(readKey);
    const { tools } = await client.listTools();
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)).toEqual([]);
    expect(tools.map(({ name }) => name)).toContain('admin_configuration_diff');
    const { ids } = (await use('find_operation')).answer;
    expect(ids).toContain('admin_metrics_list');
    expect(ids).not.toContain('admin_metrics_create');
    expect((await use('find_operation', { query: 'metrics create' })).answer.operations).not.toContainEqual(
      expect.objectContaining({ changes: true }),
    );
    await expect(use('admin_metrics_create', { body: [] })).rejects.toThrow('There is no tool');
    for (const tool of ['call_operation', 'find_operation'])
      expect(await use(tool, { operation: 'admin_metrics_create' })).toMatchObject({
        isError: true,
        answer: { code: 'not_found' },
      });
    expect((await use('admin_metrics_list')).isError).toBe(false);
  });

  test('of a key of one tenant are limited to that tenant, without those of the organisation', async () => {
    const many = await startLaurel();
    try {
      await many.admin.patch('/v1/organisation', { multiTenancy: true });
      await many.admin.post('/v1/tenants', [
        { name: 'A', customerId: 'a' },
        { name: 'B', customerId: 'b' },
      ]);
      const made = await many.admin.post('/v1/admin-api-keys', [{ name: 'of a', tenantId: 'a' }]);
      const key = made.body.created[0].key as string;
      const ofA = await connect(key, { of: many, tenant: 'a' });
      const names = (await ofA.client.listTools()).tools.map(({ name }) => name);
      expect(names).toContain('admin_configuration_put');
      expect(names).not.toContain('admin_system_get');
      const { ids } = (await ofA.use('find_operation')).answer;
      expect(ids).toContain('admin_metrics_create');
      expect(ids).not.toContain('admin_organisation_get');
      expect((await ofA.use('call_operation', { operation: 'admin_organisation_get' })).isError).toBe(true);
      await ofA.change('admin_metrics_create', { body: [{ key: 'laps', name: 'Laps' }] });
      expect((await ofA.use('admin_metrics_list')).answer).toMatchObject([{ key: 'laps' }]);
      const ofB = await connect(key, { of: many, tenant: 'b' });
      expect((await ofB.use('admin_metrics_list')).answer).toMatchObject({ code: 'forbidden' });
      const unnamed = await connect(many.adminKey, { of: many });
      expect((await unnamed.use('admin_metrics_list')).answer).toMatchObject({ code: 'tenant_required' });
    } finally {
      await Promise.all(clients.splice(0).map((client) => client.close()));
      await many.close();
    }
  });

  test('say what is wrong with arguments', async () => {
    const { use } = await connect();
    const wrong = [
      await use('users_get', {}),
      await use('users_get', { id: 'ada', color: 'red' }),
      await use('users_get', { id: 'nobody' }),
      await use('admin_metrics_list', { limit: 'many' }),
      await use('metrics_event', { key: 'laps', body: { value: 1 } }),
    ];
    expect(wrong.map(({ isError }) => isError)).toEqual([true, true, true, true, true]);
    expect(wrong.map(({ answer }) => answer.code)).toEqual([
      'invalid',
      'invalid',
      'not_found',
      'unprocessable',
      'invalid',
    ]);
    expect(wrong[4]!.answer.error).toContain('user');
  });

  test('take only values in a query that a query can have', async () => {
    const { use } = await connect();
    for (const limit of [{ toString: 1 }, { toString: null }, {}, null, [[1]], [{ toString: 1 }], [null]])
      expect(await use('admin_metrics_list', { limit })).toMatchObject({
        isError: true,
        answer: { code: 'unprocessable', error: expect.stringContaining('limit must be') },
      });
    expect((await use('admin_metrics_list', { limit: 1 })).isError).toBe(false);
    expect((await use('admin_metrics_list', { limit: '1' })).isError).toBe(false);
    expect((await use('users_achievements', { id: 'ada', includeIncomplete: true })).isError).toBe(false);
  });
});

describe('the address', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  };
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${laurel.adminUrl}/mcp`, {
      method: 'POST',
      headers: { 'X-API-KEY': laurel.adminKey, 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

  test('needs an admin key, its own origin, and a version that it speaks', async () => {
    const refused = await Promise.all([
      post(initialize, { 'X-API-KEY': 'adm_x.wrong' }),
      post(initialize, { Origin: 'https://elsewhere.example' }),
      post(initialize, { Origin: 'null' }),
      post(initialize, { 'MCP-Protocol-Version': '1999-01-01' }),
      post([initialize]),
      post({ hello: 1 }),
      post(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${'x'.repeat(1_100_000)}"}}`),
      fetch(`${laurel.adminUrl}/mcp`, { headers: { 'X-API-KEY': laurel.adminKey, Accept: 'text/event-stream' } }),
    ]);
    expect(refused.map(({ status }) => status)).toEqual([401, 403, 403, 400, 400, 400, 413, 405]);
    const made = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }]);
    expect((await post(initialize, { 'X-API-KEY': made.body.created[0].key })).status).toBe(403);
    expect((await fetch(`${laurel.appUrl}/mcp`, { method: 'POST' })).status).toBe(404);
    for (const response of refused) await response.arrayBuffer();
  });

  test('refuses deep nesting', async () => {
    const call = (name: string, levels: number, rest = '') =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{"body":${'['.repeat(levels)}${rest}${']'.repeat(levels)}}}}`;
    const refused = await Promise.all([
      post(call('admin_metrics_create', 65)),
      post(call('metrics_event', 20_000)),
      post(call('admin_metrics_create', 30_000, 'null')),
      post('['.repeat(30_000) + ']'.repeat(30_000)),
      post(call('admin_metrics_create', 500_000)),
    ]);
    for (const response of refused) {
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: 'malformed', error: expect.stringContaining('too deeply') });
    }
    const allowed = await post(call('admin_metrics_create', 61));
    expect(allowed.status).toBe(200);
    const { result } = (await allowed.json()) as { result: Result };
    expect(result.content[0]!.text).not.toContain('internal');
  });

  test('keeps no session: a notification leaves nothing behind, and any process answers the next message', async () => {
    const started = await post(initialize, { Origin: laurel.adminUrl });
    expect([started.status, started.headers.get('mcp-session-id')]).toEqual([200, null]);
    expect(await started.json()).toMatchObject({ id: 1, result: { serverInfo: { name: 'laurel' } } });
    const notified = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([notified.status, notified.headers.get('content-length'), await notified.text()]).toEqual([202, '0', '']);
    const listed = await post({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    const { result } = (await listed.json()) as { result: { tools: unknown[] } };
    expect(result.tools.length).toBeGreaterThan(20);
  });
});

test('laurel mcp passes messages on, and says why it cannot', async () => {
  const main = join(await inFewFiles(), 'src/cli/main.js');
  const start = async (key: string) => {
    const client = new Client({ name: 'test', version: '1' });
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [main, 'mcp', '--url', laurel.adminUrl],
      env: { PATH: process.env['PATH'] ?? '', ADMIN_API_KEY: key },
      stderr: 'ignore',
    });
    clients.push(client);
    await client.connect(transport);
    return client;
  };
  const client = await start(readKey);
  expect(client.getServerVersion()).toMatchObject({ name: 'laurel' });
  const { use } = using(client);
  expect((await use('admin_organisation_get')).answer).toMatchObject({ name: expect.any(String) });
  await client.close();
  await expect(start('adm_x.wrong')).rejects.toThrow(/Invalid or inactive|invalid_key|401/);
});
