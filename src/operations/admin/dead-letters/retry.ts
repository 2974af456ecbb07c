import { Type } from 'typebox';
import { DeadLetter } from '../../../domain/dead-letters.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { operation } from '../../operation.ts';
import { deadLetterAnswer } from './dead-letter-answer.ts';

export const adminDeadLettersRetry = operation({
  id: 'admin_dead_letters_retry',
  surface: 'admin',
  method: 'post',
  path: '/v1/dead-letters/{id}/retry',
  summary: 'Store what is not stored of an entry that was set aside; `status` and `reason` say what became of it',
  scope: 'organisation',
  params: Type.Object({ id: Uuid }),
  responses: { 200: DeadLetter },
  handle: async ({ deadLetters }, { by, params }) => ({
    status: 200,
    body: deadLetterAnswer(await deadLetters.retry(params.id, by)),
  }),
});
