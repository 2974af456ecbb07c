import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Configuration } from '../src/domain/configuration.ts';
import type { TestLaurel } from './laurel.ts';
import { STUDY_APP } from './study-app.ts';

/** Creates tenants with these customer IDs, in the order of their numbers, each with its own configuration. */
export async function addTenants(
  laurel: Pick<TestLaurel, 'admin'>,
  customerIds: readonly string[],
  configuration: Configuration = STUDY_APP,
): Promise<void> {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  const tenants = customerIds.map((customerId) => ({ customerId, name: customerId }));
  expect(await laurel.admin.post('/v1/tenants', tenants)).toMatchObject({ status: 201, body: { issues: [] } });
  for (const tenantId of customerIds) {
    const apply = () => laurel.admin.put('/v1/configuration', configuration, { tenantId });
    let applied = await apply();
    // Shortly after the start, the shard of a new tenant may still be inspected.
    while (applied.status === 503) applied = await sleep(20).then(apply);
    expect({ status: applied.status, body: applied.body as unknown }).toMatchObject({ status: 200 });
  }
}
