import { createHmac } from 'node:crypto';

/**
 * The token that a page sends with every change. It is derived from the session's token, which scripts cannot read. So it needs no storage, and is
 * always the same for a session.
 */
export const csrfTokenOf = (token: string): string => createHmac('sha256', token).update('csrf').digest('base64url');
