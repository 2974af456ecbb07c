import { Type, type Static } from 'typebox';
import { AdminIssue } from './admin.ts';
import { EventResponse } from './event.ts';
import { GUARD_NAMES } from './guards.ts';
import { Nullable, Uuid } from './schemas.ts';
import { UserId } from './user.ts';

/** What guards keep of events, as it is asked for and answered. */

const DateTime = Type.String({ format: 'date-time' });
const Guard = Type.Enum([...GUARD_NAMES]);
const Status = Type.Enum(['waiting', 'released', 'dropped']);

export const QuarantinedEvent = Type.Object({
  /** The event's, as it was answered to its sender. */
  id: Uuid,
  userId: Type.String(),
  /** Null: the metric was deleted. */
  metricKey: Nullable(Type.String()),
  guard: Guard,
  /** As it was sent. */
  value: Type.Number(),
  attributes: Nullable(Type.Record(Type.String(), Type.String())),
  idempotencyKey: Nullable(Type.String()),
  status: Status,
  at: DateTime,
  /** When it was released or dropped. */
  settled: Nullable(DateTime),
});
export type QuarantinedEvent = Static<typeof QuarantinedEvent>;

/** A page of the quarantine, newest first; `nextCursor` leads to the next, null: this is the last. */
export const QuarantinedEvents = Type.Object({
  events: Type.Array(QuarantinedEvent),
  nextCursor: Nullable(Type.String()),
});

/** Which events are asked for; `from` and `to`: when they were sent. */
export const QuarantineQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  cursor: Type.Optional(Uuid),
  status: Type.Optional(Status),
  userId: Type.Optional(UserId),
  metricKey: Type.Optional(Type.String({ maxLength: 255 })),
  guard: Type.Optional(Guard),
  from: Type.Optional(DateTime),
  to: Type.Optional(DateTime),
});
export type QuarantineQuery = Static<typeof QuarantineQuery>;

/** Events to release or to drop. */
export const QuarantinedIds = Type.Object({ ids: Type.Array(Uuid, { minItems: 1, maxItems: 1_000 }) });

/** An event that was released, and what it changed; `event` is null where an earlier call released it. */
export const ReleasedEvent = Type.Object({ id: Uuid, event: Nullable(EventResponse) });
export type ReleasedEvent = Static<typeof ReleasedEvent>;

export const ReleasedEvents = Type.Object({ released: Type.Array(ReleasedEvent), issues: Type.Array(AdminIssue) });

/** How often a guard stopped events of a user. */
export const GuardCount = Type.Object({
  metricKey: Nullable(Type.String()),
  guard: Guard,
  refused: Type.Integer(),
  clamped: Type.Integer(),
  quarantined: Type.Integer(),
  /** When it stopped one last. */
  last: DateTime,
});
export type GuardCount = Static<typeof GuardCount>;
