import { createHmac } from 'node:crypto';

/**
 * What a page sends with every change of a session. Derived from the session's token, which no script can read, so that nothing
 * is stored for it, and always the same of one session.
 */
export const csrfTokenOf = (token: string): string => createHmac('sha256', token).update('csrf').digest('base64url');
