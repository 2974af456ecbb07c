import { DeletedResources, Ids } from '../../../domain/admin.ts';
import { deleteEach } from '../../bulk.ts';
import { operation } from '../../operation.ts';

export const adminDeadLettersDelete = operation({
  id: 'admin_dead_letters_delete',
  surface: 'admin',
  method: 'delete',
  path: '/v1/dead-letters',
  summary: 'Drop entries that were set aside: what is not stored of them is gone for good',
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
