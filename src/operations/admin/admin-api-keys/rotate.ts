import { Type } from 'typebox';
import { CreatedAdminKey } from '../../../domain/admin.ts';
import { Uuid } from '../../../domain/schemas.ts';
import { AppError } from '../../../errors.ts';
import { operation } from '../../operation.ts';
import { adminKeyAnswer } from './admin-key-answer.ts';

export const adminAdminApiKeysRotate = operation({
  id: 'admin_admin_api_keys_rotate',
  surface: 'admin',
  method: 'post',
  path: '/v1/admin-api-keys/{id}/rotate',
  summary: 'Give an admin key another secret, shown this once; the old one holds nowhere from now on',
  scope: 'organisation',
  params: Type.Object({ id: Uuid }),
  responses: { 200: CreatedAdminKey },
  handle: async ({ adminKeys }, { by, params }) => {
    const rotated = await adminKeys.rotate(params.id, by);
    if (rotated === null) throw new AppError('not_found', 'There is no admin key with this ID');
    return { status: 200, body: { ...adminKeyAnswer(rotated), key: rotated.key } };
  },
});
