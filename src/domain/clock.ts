import { Type, type Static } from 'typebox';

/** The time as Laurel sees it. */
export const ClockTime = Type.Object({ now: Type.String({ format: 'date-time' }) });
export type ClockTime = Static<typeof ClockTime>;
