import { randomBytes } from 'node:crypto';

/** What a caller's own ID may be; anything else is not repeated, in answers, logs or the audit log. */
const WELL_FORMED = /^[A-Za-z0-9_-]{1,64}$/;

/** Told apart from other processes by 40 random bits, drawn once: an ID costs an addition and a concatenation. */
const PROCESS = `${randomBytes(5).toString('hex')}-`;
let count = 0;

/** The ID of a request: the caller's own, where one was sent that is well-formed, else a new one. */
export const requestIdOf = (sent: string | null): string =>
  sent !== null && WELL_FORMED.test(sent) ? sent : PROCESS + (count += 1).toString(36);
