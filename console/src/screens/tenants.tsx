import { useQuery } from '@tanstack/react-query';
import { answer } from '../api/answer.ts';
import { curl } from '../api/bodies.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { organisationQuery, type AdminRead } from '../api/queries.ts';
import { ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { Button } from '../ui/button.tsx';
import { moment } from '../ui/format.ts';
import { Code, Empty, Failed, Screen, Status } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';

type Tenant = AdminRead<'/v1/tenants'>[number];

const COLUMNS: readonly Column<Tenant>[] = [
  { id: 'name', header: 'Name', value: ({ name }) => name, cell: ({ name }) => name },
  { id: 'customerId', header: 'Your ID', cell: ({ customerId }) => <Code>{customerId}</Code> },
  { id: 'created', header: 'Created', cell: ({ created }) => moment(created), spare: true },
  { id: 'status', header: 'Status', cell: ({ status }) => <Status of={status} /> },
];
export function Tenants() {
  const fields = useForm('tenant');
  const organisation = useQuery(organisationQuery);
  const change = useChange({
    run: (multiTenancy: boolean) => answer(admin.PATCH('/v1/organisation', { body: { multiTenancy } })),
    done: 'Saved.',
  });
  const several = organisation.data?.multiTenancy;
  return (
    <Screen
      title="Tenants"
      about={
        several === true
          ? 'Every tenant has users and a configuration of its own.'
          : 'There is one tenant, the organisation. With several, each has users and a configuration of its own.'
      }
      actions={
        several !== undefined && (
          <Button disabled={change.isPending} onClick={() => change.mutate(!several)}>
            {several ? 'Disable multi-tenancy' : 'Enable multi-tenancy'}
          </Button>
        )
      }
    >
      {organisation.isError && <Failed error={organisation.error} />}
      {several === false && (
        <Empty title="There is one tenant" curl={curl('PATCH', '/v1/organisation', { multiTenancy: true })}>
          Enabling multi-tenancy hides the present users and configuration; disabling it brings them back unchanged.
          This command does the same as the button:
        </Empty>
      )}
      {several === true && (
        <ResourceList
          noun="tenant"
          nameOf={({ name }) => name}
          query={{
            queryKey: ['tenants'],
            page: (query) => answer(admin.GET('/v1/tenants', { params: { query } })),
          }}
          columns={COLUMNS}
          fields={fields}
          create={(item) => admin.POST('/v1/tenants', { body: [item] })}
          update={(item) => admin.PATCH('/v1/tenants', { body: [item] })}
          remove={(id) => admin.DELETE('/v1/tenants', { params: { query: { ids: [id] } } })}
          removal="It is archived: nothing of it can be read or changed any more."
          empty={
            <Empty title="No tenant yet" curl={curl('POST', '/v1/tenants', [{ customerId: 'north', name: 'North' }])}>
              Create the first one here, or:
            </Empty>
          }
        />
      )}
    </Screen>
  );
}
