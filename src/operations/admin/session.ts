import { type Static, Type } from 'typebox';
import { AdminKey } from '../../domain/administration/admin.ts';
import { Nullable } from '../../domain/schemas.ts';
import { AppError } from '../../errors.ts';
import type { SessionKey } from '../../postgres/access/sessions.ts';
import { operation } from '../operation.ts';
import type { Services } from '../services.ts';

/** A session, or a key sent without one, and its rights. */
const AdminSession = Type.Object({
  prefix: AdminKey.properties.prefix,
  name: AdminKey.properties.name,
  access: Type.Enum(['full', 'read']),
  tenantId: Nullable(Type.String()),
  expiresAt: Nullable(Type.String({ format: 'date-time' })),
  csrfToken: Nullable(Type.String()),
  now: Type.String({ format: 'date-time' }),
  testClock: Type.Boolean({
    description: 'Whether the Admin API can set the time, so that `now` may not be the real time.',
  }),
});
type AdminSession = Static<typeof AdminSession>;

/** `session`: omitted if the key itself was sent. */
const sessionAnswer = (
  { clock, testClock }: Pick<Services, 'clock' | 'testClock'>,
  key: SessionKey,
  session?: { expiresMs: number; csrfToken: string },
): AdminSession => ({
  ...key,
  expiresAt: session === undefined ? null : new Date(session.expiresMs).toISOString(),
  csrfToken: session?.csrfToken ?? null,
  now: new Date(clock.now()).toISOString(),
  testClock: testClock !== null,
});

export const adminSessionGet = operation({
  id: 'admin_session_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/session',
  summary: 'The key that the request was made with, and the session that stands for it',
  scope: 'key',
  responses: { 200: AdminSession },
  handle: async (services, { caller }) => {
    const key = await services.sessions.keyOf(caller.prefix);
    if (key === null) throw new AppError('unauthorized', 'The API key is missing or not valid');
    return { status: 200, body: sessionAnswer(services, key, caller.session) };
  },
});

export const adminSessionCreate = operation({
  id: 'admin_session_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/session',
  summary: 'Sign in to the console, with an admin key or with the token of the link that a start prints',
  description:
    'The answer sets a cookie that stands for the key, for 12 hours or until the key is revoked, rotated or deleted. ' +
    'Requests with the cookie need no key; those that may change something need `csrfToken` in the header `X-CSRF-Token`.',
  scope: 'public',
  signsIn: true,
  body: Type.Object({
    key: Type.Optional(Type.String({ maxLength: 512 })),
    token: Type.Optional(Type.String({ maxLength: 512 })),
  }),
  responses: { 201: AdminSession },
  handle: async (services, { by, body: { key, token } }) => {
    if ((key === undefined) === (token === undefined))
      throw new AppError('invalid', 'Body must have either key or token');
    const { sessions } = services;
    const session = await sessions.begin(key === undefined ? { token: token! } : { key }, by);
    const of = session && (await sessions.keyOf(session.prefix));
    if (session === null || of === null)
      throw new AppError(
        'invalid_key',
        key === undefined ? 'The link was already used, or has expired' : 'Invalid or inactive admin key',
      );
    return { status: 201, body: sessionAnswer(services, of, session), session };
  },
});

export const adminSessionDelete = operation({
  id: 'admin_session_delete',
  surface: 'admin',
  method: 'delete',
  path: '/v1/session',
  summary: 'Sign out: the session ends in every process; without a session nothing changes',
  scope: 'key',
  keyScopes: ['read'],
  responses: { 204: null },
  handle: async ({ sessions }, { by, caller }) => {
    if (caller.session !== undefined) await sessions.end(caller.session.hash, by);
    return { status: 204, body: undefined, session: null };
  },
});
