import { Type, type Static } from 'typebox';
import { Nullable } from '../../../domain/schemas.ts';
import { AdminKey } from '../../../domain/admin.ts';
import type { Services } from '../../services.ts';
import type { SessionKey } from '../../../postgres/sessions/sessions.ts';

/** A session, or a key that was sent by itself: what it may do. */
export const AdminSession = Type.Object({
  prefix: AdminKey.properties.prefix,
  name: AdminKey.properties.name,
  access: Type.Enum(['full', 'read']),
  tenantId: Nullable(Type.String()),
  expiresAt: Nullable(Type.String({ format: 'date-time' })),
  csrfToken: Nullable(Type.String()),
  /** The server's time. */
  now: Type.String({ format: 'date-time' }),
  testClock: Type.Boolean({
    description: 'Whether the Admin API can set the time, so that `now` may not be the real time.',
  }),
});
export type AdminSession = Static<typeof AdminSession>;

/** `session`: left out where the key itself was sent. */
export const sessionAnswer = (
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
