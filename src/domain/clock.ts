import { Type, type Static } from 'typebox';

/** The current time of Laurel's clock. */
export const ClockTime = Type.Object({ now: Type.String({ format: 'date-time' }) });
export type ClockTime = Static<typeof ClockTime>;
