import { type Static, Type } from 'typebox';
import { Uuid } from '../schemas.ts';
import { UserId } from '../user.ts';
import { WEBHOOK_EVENTS } from './webhook.ts';

/** What a live stream can report: the webhook types and, for admin keys only, a sample of the events. */
export const LIVE_TYPES = [...WEBHOOK_EVENTS, 'event'] as const;
export type LiveType = (typeof LIVE_TYPES)[number];

/** Maximum number of boards that a user's stream may name, since each has a cost. */
export const MAX_LIVE_BOARDS = 20;

const MAX_IDS = 100;
const Ids = Type.Array(Uuid, { minItems: 1, maxItems: MAX_IDS });

/** A request for a ticket. A filter on a kind of resource hides messages about other resources of that kind. */
export const LiveTicketRequest = Type.Object({
  /** Keys or IDs of leaderboards. */
  boards: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: MAX_LIVE_BOARDS })),
  types: Type.Optional(Type.Array(Type.Enum([...LIVE_TYPES]), { minItems: 1, maxItems: LIVE_TYPES.length })),
  metricIds: Type.Optional(Ids),
  leaderboardIds: Type.Optional(Ids),
  pointsSystemIds: Type.Optional(Ids),
  userId: Type.Optional(UserId),
});
export type LiveTicketRequest = Static<typeof LiveTicketRequest>;

export const LiveTicket = Type.Object({
  ticket: Type.String(),
  /** Seconds until the ticket expires. It opens one stream. */
  expiresIn: Type.Integer(),
});
export type LiveTicket = Static<typeof LiveTicket>;

/** Query parameters that belong elsewhere: each is refused with this text instead of ignored. */
export const MISPLACED = 'misplaced';

const ofTicket = (name: string): string =>
  `${name} is not a parameter of the stream: put it into the body of POST /v1/live/tickets. The ticket decides what the stream reports.`;

/** Query that opens a stream. The header `Last-Event-ID` may carry the ID of the last message instead. */
export const LiveQuery = Type.Object(
  {
    ticket: Type.Optional(Type.String({ maxLength: 128 })),
    lastEventId: Type.Optional(Type.String({ maxLength: 8_192 })),
  },
  { [MISPLACED]: Object.fromEntries(Object.keys(LiveTicketRequest.properties).map((name) => [name, ofTicket(name)])) },
);
