import { Type, type Static } from 'typebox';

/** A tenant's limits for late events and sign-up dates. */
export const EventSettings = Type.Object({
  lateEventDays: Type.Integer({ minimum: 0, maximum: 400 }),
  clientsMaySendLate: Type.Boolean(),
  signUpDateWritableBy: Type.Enum(['server', 'user']),
});
export type EventSettings = Static<typeof EventSettings>;

export const DEFAULT_EVENT_SETTINGS: EventSettings = {
  lateEventDays: 35,
  clientsMaySendLate: false,
  signUpDateWritableBy: 'server',
};
