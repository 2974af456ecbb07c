import { Type, type Static } from 'typebox';
import { Nullable, Uuid } from './schemas.ts';

/**
 * A part of an outbox entry that could not be stored: a record, with all rows that follow from it; a user's state; or
 * what cannot be read at all.
 */
export const FailedPart = Type.Object({
  part: Type.Enum(['record', 'state', 'rest']),
  /** Its place among the entry's records or states, from 0; of the rest how many records come before it. */
  at: Type.Integer(),
  /** Whose it is; missing: it cannot be read, or the part is about no user. */
  user: Type.Optional(Type.String()),
  /** In words that hold nothing of what a user sent. */
  reason: Type.String(),
});
export type FailedPart = Static<typeof FailedPart>;

/** An entry that was set aside, as the Admin API lists it. */
export const DeadLetter = Type.Object({
  id: Uuid,
  shard: Type.Integer(),
  /** Where it was in the shard's outbox: `<epoch ms>-<sequence>`. */
  position: Type.String(),
  /** As the entry says; null: it could not be read. */
  tenantNo: Nullable(Type.Integer()),
  /** `stored`: all of it is, since a retry. */
  status: Type.Enum(['waiting', 'stored']),
  reason: Type.String(),
  parts: Type.Array(FailedPart),
  tries: Type.Integer(),
  created: Type.String({ format: 'date-time' }),
  updated: Type.String({ format: 'date-time' }),
});
export type DeadLetter = Static<typeof DeadLetter>;

/** With what the entry holds, as far as it can be read, and its bytes. */
export const ShownDeadLetter = Type.Object({
  ...DeadLetter.properties,
  /** Null: it is stored since, or Redis kept it and has lost it. */
  entry: Nullable(
    Type.Object({
      records: Type.Array(Type.Unknown()),
      states: Type.Array(Type.Object({ user: Type.String(), state: Type.Unknown() })),
      /** Its fields as they were in the outbox, name and value in turn, each in base64. */
      fields: Type.Array(Type.String()),
    }),
  ),
});
export type ShownDeadLetter = Static<typeof ShownDeadLetter>;
