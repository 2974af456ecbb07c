import { type Static, Type } from 'typebox';

/** What an administrator could improve, in the order in which it is listed. Attention has what is broken. */
export const ADVICE_CODES = [
  'events_refused',
  'events_fell',
  'events_rose',
  'metrics_without_events',
  'nothing_to_reach',
  'points_without_trigger',
  'messages_without_channel',
  'messages_never_due',
  'emails_without_addresses',
  'users_without_zone',
  'rewards_run_out',
  'rewards_sold_out',
  'claims_waiting',
  'achievements_of_nobody',
  'achievements_of_everybody',
  'leaderboards_end',
  'leaderboards_without_users',
  'points_without_use',
  'trigger_dominates',
  'limit_near',
  'keys_unused',
] as const;
export type AdviceCode = (typeof ADVICE_CODES)[number];

/** Something that an administrator should know. */
export const Finding = Type.Object({
  /** The finding, as a sentence. */
  text: Type.String(),
  /** The remedy, as a sentence; facts about what is broken. */
  advice: Type.String(),
  /** Where to do it: a place in the console, such as `/rewards`. */
  screen: Type.String(),
});
export type Finding = Static<typeof Finding>;

export const AdviceItem = Type.Object({ code: Type.Enum([...ADVICE_CODES]), ...Finding.properties });
export type AdviceItem = Static<typeof AdviceItem>;
