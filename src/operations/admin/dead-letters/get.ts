import { Type } from 'typebox';
import { ShownDeadLetter } from '../../../domain/dead-letters.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { readableEntry } from '../../../engine/dead-letters/readable-entry.ts';
import { operation } from '../../operation.ts';
import { deadLetterAnswer } from './dead-letter-answer.ts';

export const adminDeadLettersGet = operation({
  id: 'admin_dead_letters_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/dead-letters/{id}',
  summary: 'An entry that was set aside, with what it holds as far as it can be read, and its bytes',
  scope: 'organisation',
  params: Type.Object({ id: Uuid }),
  responses: { 200: ShownDeadLetter },
  handle: async ({ deadLetters }, { params }) => {
    const { letter, fields } = await deadLetters.show(params.id);
    return { status: 200, body: { ...deadLetterAnswer(letter), entry: fields && readableEntry(fields) } };
  },
});
