import type { Resources } from '../../../catalog/resources.ts';
import type { OwnWebhook } from '../../../engine/webhooks/webhook-deliveries.ts';
import { AppError } from '../../../errors.ts';
import { unknown } from '../../resource-edit.ts';
import { webhooks } from './webhooks.ts';

/** The webhook of a tenant that a path names. 404: the tenant has none with this ID. */
export async function ownWebhook(
  resources: Pick<Resources, 'read'>,
  { tenantNo, id }: { tenantNo: number; id: string },
): Promise<OwnWebhook> {
  const wanted = id.toLowerCase();
  const webhook = (await resources.read(tenantNo)).webhooks.find((one) => one.id === wanted);
  if (webhook === undefined) throw new AppError('not_found', unknown(webhooks));
  return { tenantNo, webhook };
}
