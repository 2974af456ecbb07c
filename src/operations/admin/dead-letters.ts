import { Type } from 'typebox';
import { DeletedResources, Ids, Paging } from '../../domain/administration/admin.ts';
import { type DeadLetter as Answer, DeadLetter, ShownDeadLetter } from '../../domain/administration/dead-letters.ts';
import { Uuid } from '../../domain/schemas.ts';
import { readableEntry } from '../../engine/persist/dead-letters.ts';
import type { DeadLetter as StoredDeadLetter } from '../../postgres/corrections/dead-letters.ts';
import { deleteEach } from '../bulk.ts';
import { operation } from '../operation.ts';

const deadLetterAnswer = ({ created, updated, ...letter }: StoredDeadLetter): Answer => ({
  id: letter.id,
  shard: letter.shard,
  position: letter.position,
  tenantNo: letter.tenantNo,
  status: letter.status,
  reason: letter.reason,
  parts: letter.parts,
  tries: letter.tries,
  created: created.toISOString(),
  updated: updated.toISOString(),
});

export const adminDeadLettersList = operation({
  id: 'admin_dead_letters_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/dead-letters',
  summary: 'Outbox entries that could not be stored completely and were set aside; oldest first',
  scope: 'organisation',
  query: Type.Object({ ...Paging.properties, status: Type.Optional(Type.Enum(['waiting', 'stored'])) }),
  responses: { 200: Type.Array(DeadLetter) },
  handle: async ({ deadLetters }, { query }) => ({
    status: 200,
    body: (await deadLetters.list(query)).map(deadLetterAnswer),
  }),
});

export const adminDeadLettersGet = operation({
  id: 'admin_dead_letters_get',
  surface: 'admin',
  method: 'get',
  path: '/v1/dead-letters/{id}',
  summary: 'An entry that was set aside, with its readable contents and its bytes',
  scope: 'organisation',
  params: Type.Object({ id: Uuid }),
  responses: { 200: ShownDeadLetter },
  handle: async ({ deadLetters }, { params }) => {
    const { letter, fields } = await deadLetters.show(params.id);
    return { status: 200, body: { ...deadLetterAnswer(letter), entry: fields && readableEntry(fields) } };
  },
});

export const adminDeadLettersDelete = operation({
  id: 'admin_dead_letters_delete',
  surface: 'admin',
  method: 'delete',
  path: '/v1/dead-letters',
  summary: 'Drop entries that were set aside; their parts that are not stored are lost',
  scope: 'organisation',
  query: Ids,
  responses: { 200: DeletedResources },
  handle: async ({ deadLetters }, { by, query }) => ({
    status: 200,
    body: await deleteEach(query.ids, {
      noun: 'dead letter',
      work: (ids) => deadLetters.drop(ids, by),
    }),
  }),
});

export const adminDeadLettersRetry = operation({
  id: 'admin_dead_letters_retry',
  surface: 'admin',
  method: 'post',
  path: '/v1/dead-letters/{id}/retry',
  summary: 'Store the missing parts of an entry that was set aside; `status` and `reason` show the result',
  scope: 'organisation',
  params: Type.Object({ id: Uuid }),
  responses: { 200: DeadLetter },
  handle: async ({ deadLetters }, { by, params }) => ({
    status: 200,
    body: deadLetterAnswer(await deadLetters.retry(params.id, by)),
  }),
});
