import { randomBytes } from 'node:crypto';

/** Format of IDs accepted from callers. Others are not repeated in answers, logs or the audit log. */
const WELL_FORMED = /^[A-Za-z0-9_-]{1,64}$/;

/** 40 random bits identify the process, so that a new ID costs only an addition and a concatenation. */
const PROCESS = `${randomBytes(5).toString('hex')}-`;
let count = 0;

/** The ID of a request: the caller's if it is well-formed, otherwise a new one. */
export const requestIdOf = (sent: string | null): string =>
  sent !== null && WELL_FORMED.test(sent) ? sent : PROCESS + (count += 1).toString(36);
