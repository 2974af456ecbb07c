import { AppError } from '../../../errors.ts';
import { operation } from '../../operation.ts';
import { AdminSession, sessionAnswer } from './session-answer.ts';

export const adminSessionGet = operation({
  id: 'admin_session_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/session',
  summary: 'The key that the request was made with, and the session that stands for it',
  scope: 'key',
  responses: { 200: AdminSession },
  handle: async (services, { caller }) => {
    const key = await services.sessions.keyOf(caller.prefix);
    if (key === null) throw new AppError('unauthorized', 'The API key is missing or not valid');
    return { status: 200, body: sessionAnswer(services, key, caller.session) };
  },
});
