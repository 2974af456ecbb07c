import { askAdmin, type AdminOptions } from '../admin-api.ts';
import { CommandError } from '../command-error.ts';

/** A webhook, as far as commands need it. */
export interface ListedWebhook {
  id: string;
  name: string;
  url: string;
  events: string[];
  enabled: boolean;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** All webhooks of the tenant: there are no more than one page holds. */
export const allWebhooks = async (options: AdminOptions): Promise<ListedWebhook[]> =>
  (await askAdmin(options, { method: 'GET', path: '/v1/webhooks?limit=100' })) as ListedWebhook[];

/** The path of a webhook that is given by its ID, or by its name if no other has the same. */
export async function webhookPath(options: AdminOptions, given: string): Promise<string> {
  if (UUID.test(given)) return `/v1/webhooks/${given}`;
  const named = (await allWebhooks(options)).filter(({ name }) => name === given);
  const [only] = named;
  if (only === undefined)
    throw new CommandError(`There is no webhook called "${given}". \`laurel webhooks list\` lists them.`);
  if (named.length > 1) throw new CommandError(`${named.length} webhooks are called "${given}": give the ID of one.`);
  return `/v1/webhooks/${only.id}`;
}
