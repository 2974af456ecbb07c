import { Type } from 'typebox';
import { AppError } from '../../../errors.ts';
import { operation } from '../../operation.ts';
import { AdminSession, sessionAnswer } from './session-answer.ts';

export const adminSessionCreate = operation({
  id: 'admin_session_create',
  surface: 'admin',
  method: 'post',
  path: '/v1/session',
  summary: 'Sign in to the console, with an admin key or with the token of the link that a start prints',
  description:
    'The answer sets a cookie that stands for the key, for 12 hours or until the key is revoked, rotated or deleted. ' +
    'Requests with the cookie need no key; those that may change something need `csrfToken` in the header `X-CSRF-Token`.',
  scope: 'public',
  signsIn: true,
  body: Type.Object({
    key: Type.Optional(Type.String({ maxLength: 512 })),
    token: Type.Optional(Type.String({ maxLength: 512 })),
  }),
  responses: { 201: AdminSession },
  handle: async (services, { by, body: { key, token } }) => {
    if ((key === undefined) === (token === undefined))
      throw new AppError('invalid', 'Body must have either key or token');
    const { sessions } = services;
    const session = await sessions.begin(key === undefined ? { token: token! } : { key }, by);
    const of = session && (await sessions.keyOf(session.prefix));
    if (session === null || of === null)
      throw new AppError(
        'invalid_key',
        key === undefined ? 'The link was used, or is too old' : 'This is no admin key that may be used',
      );
    return { status: 201, body: sessionAnswer(services, of, session), session };
  },
});
