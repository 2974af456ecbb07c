import { Type } from 'typebox';
import { Paging } from '../../../domain/admin.ts';
import { DeadLetter } from '../../../domain/dead-letters.ts';
import { operation } from '../../operation.ts';
import { deadLetterAnswer } from './dead-letter-answer.ts';

// Of the organisation: an outbox is of many tenants, and of a damaged entry it may not be known whose it is.
export const adminDeadLettersList = operation({
  id: 'admin_dead_letters_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/dead-letters',
  summary: 'Entries of the outbox that could not be stored, or not all of them, and were set aside; oldest first',
  scope: 'organisation',
  query: Type.Object({ ...Paging.properties, status: Type.Optional(Type.Enum(['waiting', 'stored'])) }),
  responses: { 200: Type.Array(DeadLetter) },
  handle: async ({ deadLetters }, { query }) => ({
    status: 200,
    body: (await deadLetters.list(query)).map(deadLetterAnswer),
  }),
});
