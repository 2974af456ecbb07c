import { operation } from '../../operation.ts';

export const adminSessionDelete = operation({
  id: 'admin_session_delete',
  surface: 'admin',
  method: 'delete',
  path: '/v1/session',
  summary: 'Sign out: the session is over on every process; without a session nothing changes',
  scope: 'key',
  keyScopes: ['read'],
  responses: { 204: null },
  handle: async ({ sessions }, { by, caller }) => {
    if (caller.session !== undefined) await sessions.end(caller.session.hash, by);
    return { status: 204, body: undefined, session: null };
  },
});
