import { RefreshCw } from 'lucide-react';
import { useState } from 'react';
import { all, answer } from '../api/answer.ts';
import { curl } from '../api/bodies.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import type { AdminRead } from '../api/queries.ts';
import { ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/dialogs.tsx';
import { ago, moment } from '../ui/format.ts';
import { Code, Empty, Screen, Status, Tag } from '../ui/parts.tsx';
import { ShownOnce } from '../ui/shown-once.tsx';
import type { Column } from '../ui/table-frame.tsx';

type AdminKey = AdminRead<'/v1/admin-api-keys'>[number];
type ApplicationKey = AdminRead<'/v1/application-api-keys'>[number];

const APPLICATION_COLUMNS: readonly Column<ApplicationKey>[] = [
  { id: 'user', header: 'User', cell: ({ userId }) => userId },
  { id: 'prefix', header: 'Begins with', cell: ({ prefix }) => <Code>{prefix}</Code> },
  { id: 'scope', header: 'Scope', cell: ({ scope }) => <Tag>{scope}</Tag>, spare: true },
  {
    id: 'expires',
    header: 'Expires',
    cell: ({ expiresAt }) => (expiresAt === null ? 'never' : moment(expiresAt)),
    spare: true,
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
      about="Admin keys may do everything, for your servers and for you; application keys are for one user each."
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
        create={(item) => admin.POST('/v1/application-api-keys', { body: [item] })}
        remove={(id) => admin.DELETE('/v1/application-api-keys', { params: { query: { ids: [id] } } })}
        onCreated={shown}
        empty={
          <Empty title="No application key yet" curl={curl('POST', '/v1/application-api-keys', [{ userId: 'ada' }])}>
            A browser or an app of one user needs one. Create it here, or:
          </Empty>
        }
      />
      <ShownOnce title="The key" secret={secret} onClose={() => setSecret(null)}>
        Only its hash is stored.
      </ShownOnce>
    </Screen>
  );
}

function AdminKeys({ onShown, onCreated }: { onShown: (key: string) => void; onCreated: (body: unknown) => void }) {
  const [rotated, setRotated] = useState<AdminKey | null>(null);
  const rotate = useChange({
    run: async (id: string) =>
      onShown((await answer(admin.POST('/v1/admin-api-keys/{id}/rotate', { params: { path: { id } } }))).key),
  });
  const columns: Column<AdminKey>[] = [
    { id: 'name', header: 'Name', value: ({ name }) => name, cell: ({ name }) => name },
    { id: 'prefix', header: 'Begins with', cell: ({ prefix }) => <Code>{prefix}</Code>, spare: true },
    {
      id: 'access',
      header: 'Access',
      cell: ({ access }) => <Tag tone={access === 'full' ? 'good' : 'plain'}>{access}</Tag>,
    },
    { id: 'tenant', header: 'Tenant', cell: ({ tenantId }) => tenantId ?? 'all', spare: true },
    { id: 'used', header: 'Last used', cell: ({ lastUsed }) => ago(lastUsed), spare: true },
    { id: 'status', header: 'Status', cell: ({ status }) => <Status of={status} /> },
    {
      id: 'rotate',
      header: 'Secret',
      unseen: true,
      align: 'right',
      spare: true,
      cell: (key) => (
        <Button look="bare" className="size-8 px-0" aria-label={`Rotate ${key.name}`} onClick={() => setRotated(key)}>
          <RefreshCw size={14} />
        </Button>
      ),
    },
  ];
  return (
    <>
      <ResourceList
        title="Admin keys"
        noun="admin key"
        nameOf={({ name }) => name}
        query={{
          queryKey: ['admin-keys'],
          queryFn: () => all((query) => admin.GET('/v1/admin-api-keys', { params: { query } })),
        }}
        columns={columns}
        fields={useForm('admin_key')}
        create={(item) => admin.POST('/v1/admin-api-keys', { body: [item] })}
        update={(item) => admin.PATCH('/v1/admin-api-keys', { body: [item] })}
        remove={(id) => admin.DELETE('/v1/admin-api-keys', { params: { query: { ids: [id] } } })}
        removal="It is refused at once, and whoever signed in with it is signed out."
        onCreated={onCreated}
        empty={null}
      />
      <Confirm
        open={rotated !== null}
        onClose={() => setRotated(null)}
        title={rotated === null ? '' : `Rotate ${rotated.name}?`}
        action="Rotate"
        busy={rotate.isPending}
        onConfirm={() => rotate.mutate(rotated!.id, { onSettled: () => setRotated(null) })}
      >
        The old secret is refused at once, and whoever signed in with it is signed out.
      </Confirm>
    </>
  );
}
