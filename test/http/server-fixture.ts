import { Type } from 'typebox';
import { createAuthenticator } from '../../src/http/access/auth.ts';
import type { Server } from '../../src/http/listening.ts';
import { createSenderOf } from '../../src/http/refused-at-once.ts';
import { createServer, type ServerOptions } from '../../src/http/server.ts';
import { createTenantResolver } from '../../src/http/access/tenancy.ts';
import { operation, type Operation, type Tenant } from '../../src/operations/operation.ts';
import type { Services } from '../../src/engine/services.ts';
import { keyHash, type KeyRecord } from '../../src/postgres/access/keys.ts';
import { TestClient } from './client.ts';

export const ADMIN_KEY = 'adm_one.secret-secret-secret';
export const USER_KEY = 'app_ada.secret-secret-secret';
export const BODY_BYTES = 10_000;

const record = (key: string, rest: Partial<KeyRecord>): KeyRecord => {
  const [prefix, body] = key.split('.') as [string, string];
  return {
    id: prefix,
    kind: 'admin',
    prefix,
    hash: keyHash(body),
    userId: null,
    tenantNo: null,
    active: true,
    scope: 'all',
    expiresMs: null,
    rateLimit: null,
    usedMs: null,
    ...rest,
  };
};

const RECORDS = [
  record(ADMIN_KEY, {}),
  record(USER_KEY, { kind: 'application', userId: 'ada', tenantNo: 0 }),
  record('adm_old.secret-secret-secret', { active: false }),
];

const OWN: Tenant = { no: 0, id: 'b1b0a5a0-0000-4000-8000-000000000000', customerId: null };
const NORTH: Tenant = { no: 1, id: 'b1b0a5a0-0000-4000-8000-000000000001', customerId: 'north' };

/** A gate at which a test's handlers wait, and which reports when one does. */
export class Gate {
  waiting = 0;
  passed = 0;
  private open!: () => void;
  private opened = new Promise<void>((resolve) => (this.open = resolve));

  async pass(): Promise<void> {
    this.waiting += 1;
    await this.opened;
    this.passed += 1;
  }

  release(): void {
    this.open();
  }
}

/** Operations that answer with their own input. */
export function echoOperations(gate: Gate): Operation[] {
  const Any = Type.Object({});
  return [
    operation('things_event', 'POST /v1/things/{key}/event', {
      aliases: ['/api/things/{key}/event'],
      summary: 'Echo',
      idempotent: true,
      params: Type.Object({ key: Type.String({ maxLength: 20 }) }),
      body: Type.Object({
        user: Type.Object({
          id: Type.String({ minLength: 1, maxLength: 255 }),
          tz: Type.Optional(Type.Union([Type.String(), Type.Null()])),
        }),
        value: Type.Number({ minimum: -1e12, maximum: 1e12 }),
        attributes: Type.Optional(Type.Object({}, { additionalProperties: Type.String() })),
      }),
      responses: { 201: Any },
      namedUsers: ({ body }) => [body.user.id],
      handle: async (_services, call) => ({ status: 201, body: call }),
    }),
    operation('things_get', 'GET /v1/things/{id}', {
      summary: 'Echo',
      params: Type.Object({ id: Type.String({ format: 'uuid' }) }),
      responses: { 200: Any },
      handle: async (_services, { params }) => ({ status: 200, body: { params } }),
    }),
    operation('things_events', 'POST /v1/things/events', {
      summary: 'Echo',
      body: Type.Array(Type.Object({ id: Type.String() }), { minItems: 1, maxItems: 3 }),
      responses: { 200: Any },
      handle: async (_services, { body }) => ({ status: 200, body: { body } }),
    }),
    operation('things_list', 'GET /v1/things', {
      summary: 'Echo',
      query: Type.Object({
        limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
        ids: Type.Optional(Type.Array(Type.String({ format: 'uuid' }), { minItems: 1, maxItems: 100 })),
        names: Type.Optional(Type.Array(Type.String())),
        all: Type.Optional(Type.Boolean()),
        day: Type.Optional(Type.String({ format: 'date' })),
        q: Type.Optional(Type.String()),
      }),
      responses: { 200: Any },
      handle: async (_services, { query }) => ({ status: 200, body: { query } }),
    }),
    operation('users_get', 'GET /v1/people/{id}', {
      summary: 'Echo',
      params: Type.Object({ id: Type.String({ maxLength: 255 }) }),
      responses: { 200: Any },
      namedUsers: ({ params }) => [params.id],
      handle: async (_services, { params, tenant }) => ({
        status: 200,
        json: JSON.stringify({ params, tenant: tenant.no }),
      }),
    }),
    operation('organisation_get', 'GET /v1/organisation', {
      summary: 'Echo',
      scope: 'organisation',
      responses: { 200: Any },
      handle: async (_services, { tenant }) => ({ status: 200, body: { tenant: tenant.no } }),
    }),
    operation('slow_post', 'POST /v1/slow', {
      summary: 'Waits at the gate',
      body: Any,
      responses: { 200: Any },
      handle: async () => {
        await gate.pass();
        return { status: 200, body: { slow: true } };
      },
    }),
    operation('slow_get', 'GET /v1/slow', {
      summary: 'Waits at the gate',
      responses: { 200: Any },
      handle: async () => {
        await gate.pass();
        return { status: 200, body: { slow: true } };
      },
    }),
  ];
}

export interface Fixture {
  port: number;
  server: Server;
  client: TestClient;
  gate: Gate;
  /** Errors in the log. */
  errors: { fields: Record<string, unknown>; message: string }[];
  /** Warnings in the log. */
  warnings: Fixture['errors'];
  /** What `/readyz` reports as missing, and as degraded. */
  missing: { checks: string[]; degraded: string[]; notices: string[] };
}

/** A listening server with the echo operations and the given ones, one admin key, one key of user `ada`. */
export async function startServer(
  options: Partial<ServerOptions> & { more?: Operation[]; multiTenancy?: boolean } = {},
): Promise<Fixture> {
  const { more = [], multiTenancy = false, ...rest } = options;
  const gate = new Gate();
  const errors: Fixture['errors'] = [];
  const warnings: Fixture['errors'] = [];
  const kept =
    (list: Fixture['errors']) =>
    (fields: object, message: string): void =>
      void list.push({ fields: fields as Record<string, unknown>, message });
  const missing: Fixture['missing'] = { checks: [], degraded: [], notices: [] };
  const surface = rest.surface ?? 'application';
  const operations = rest.operations ?? [...echoOperations(gate), ...more];
  const keys = createAuthenticator({
    lookup: { find: async (prefix) => RECORDS.find((stored) => stored.prefix === prefix) ?? null },
  });
  const tenants = {
    multiTenancy: () => multiTenancy,
    default: () => OWN,
    byCustomerId: (id: string) => (id === NORTH.customerId ? NORTH : undefined),
    confirm: async () => undefined,
  };
  const server = createServer({
    surface,
    operations,
    // The handlers here use none; without room, no request is noted.
    services: { recentRequests: { hasRoomFor: (_prefix: string): boolean => false } } as Services,
    authenticate: (header) => keys.authenticate(header),
    senderOf: createSenderOf(keys.recall, tenants),
    resolveTenant: createTenantResolver(tenants),
    limits: { bodyBytes: BODY_BYTES },
    readiness: async () => ({ missing: missing.checks, degraded: missing.degraded }),
    notices: () => missing.notices,
    log: {
      info: () => undefined,
      warn: kept(warnings),
      error: kept(errors),
    },
    ...rest,
  });
  const port = await server.listen('127.0.0.1', 0);
  const client = new TestClient({ baseUrl: `http://127.0.0.1:${port}`, surface, operations, key: ADMIN_KEY });
  return { port, server, client, gate, errors, warnings, missing };
}
