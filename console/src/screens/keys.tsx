import { RefreshCw } from 'lucide-react';
import { useState } from 'react';
import { answer } from '../api/answer.ts';
import { curl } from '../api/bodies.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { adminKeysQuery, type AdminRead } from '../api/queries.ts';
import { ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { ConfirmedButton } from '../ui/confirmed.tsx';
import { ago, moment } from '../ui/format.ts';
import { Code, Empty, Screen, Status, Tag } from '../ui/parts.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import type { Column } from '../ui/table-frame.tsx';

type AdminKey = AdminRead<'/v1/admin-api-keys'>[number];
type ApplicationKey = AdminRead<'/v1/application-api-keys'>[number];

const APPLICATION_COLUMNS: readonly Column<ApplicationKey>[] = [
  { id: 'user', header: 'User', cell: ({ userId }) => userId },
  { id: 'prefix', header: 'Prefix', cell: ({ prefix }) => <Code>{prefix}</Code> },
  { id: 'scope', header: 'Scope', cell: ({ scope }) => <Tag>{scope}</Tag> },
  {
    id: 'expires',
    header: 'Expires',
    cell: ({ expiresAt }) => (expiresAt === null ? 'never' : moment(expiresAt)),
  },
  { id: 'used', header: 'Last used', cell: ({ lastUsed }) => ago(lastUsed) },
];
/** Both kinds of keys. */
export function Keys() {
  const [secret, setSecret] = useState<string | null>(null);
  const shown = (body: unknown): void => setSecret((body as { created: { key: string }[] }).created[0]?.key ?? null);
  return (
    <Screen
      title="Keys"
      about="Admin keys are for your servers and administrators: a colleague signs in to this console with one. An application key is for the app or browser of one user."
    >
      <AdminKeys onShown={setSecret} onCreated={shown} />
      <ResourceList
        title="Application keys"
        noun="application key"
        nameOf={({ prefix }) => prefix}
        query={{
          queryKey: ['application-keys'],
          page: (query) => answer(admin.GET('/v1/application-api-keys', { params: { query } })),
        }}
        columns={APPLICATION_COLUMNS}
        fields={useForm('application_key')}
        create={(item) => admin.POST('/v1/application-api-keys', { params: { query: { strict: true } }, body: [item] })}
        remove={(id) => admin.DELETE('/v1/application-api-keys', { params: { query: { ids: [id] } } })}
        onCreated={shown}
        empty={
          <Empty title="No application keys yet" curl={curl('POST', '/v1/application-api-keys', [{ userId: 'ada' }])}>
            Create one if an app or a browser calls the API itself. Your servers use an admin key. Here, or with:
          </Empty>
        }
      />
      <ShownOnce title="The key" secret={secret} onClose={() => setSecret(null)}>
        Laurel stores only its hash.
      </ShownOnce>
    </Screen>
  );
}

function AdminKeys({ onShown, onCreated }: { onShown: (key: string) => void; onCreated: (body: unknown) => void }) {
  const columns: Column<AdminKey>[] = [
    { id: 'name', header: 'Name', value: ({ name }) => name, cell: ({ name }) => name },
    { id: 'prefix', folds: true, header: 'Prefix', cell: ({ prefix }) => <Code>{prefix}</Code> },
    {
      id: 'access',
      header: 'Access',
      cell: ({ access }) => <Tag tone={access === 'full' ? 'good' : 'plain'}>{access}</Tag>,
    },
    { id: 'tenant', folds: true, header: 'Tenant', cell: ({ tenantId }) => tenantId ?? 'all' },
    { id: 'used', header: 'Last used', cell: ({ lastUsed }) => ago(lastUsed) },
    { id: 'status', header: 'Status', cell: ({ status }) => <Status of={status} /> },
    {
      id: 'rotate',
      header: 'Secret',
      unseen: true,
      align: 'right',
      cell: (key) => <Rotate adminKey={key} onShown={onShown} />,
    },
  ];
  return (
    <ResourceList
      title="Admin keys"
      noun="admin key"
      nameOf={({ name }) => name}
      query={adminKeysQuery}
      columns={columns}
      fields={useForm('admin_key')}
      create={(item) => admin.POST('/v1/admin-api-keys', { body: [item] })}
      update={(item) => admin.PATCH('/v1/admin-api-keys', { body: [item] })}
      remove={(id) => admin.DELETE('/v1/admin-api-keys', { params: { query: { ids: [id] } } })}
      removal="The key stops working at once, and its sessions end."
      onCreated={onCreated}
      empty={null}
    />
  );
}

/** Gives an admin key a new secret. */
function Rotate({ adminKey: { id, name }, onShown }: { adminKey: AdminKey; onShown: (key: string) => void }) {
  const rotate = useChange({
    run: async () =>
      onShown((await answer(admin.POST('/v1/admin-api-keys/{id}/rotate', { params: { path: { id } } }))).key),
  });
  return (
    <ConfirmedButton
      look="bare"
      className="size-8 px-0"
      aria-label={`Rotate ${name}`}
      change={rotate}
      title={`Rotate ${name}?`}
      action="Rotate"
      about="Creates a new secret. The old one stops working at once, and its sessions end."
    >
      <RefreshCw size={14} />
    </ConfirmedButton>
  );
}
