import { useQuery } from '@tanstack/react-query';
import { answer } from '../api/answer.ts';
import { curl } from '../api/bodies.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { organisationQuery, type AdminRead } from '../api/queries.ts';
import { ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { ConfirmedButton } from '../ui/confirmed.tsx';
import { moment } from '../ui/format.ts';
import { Code, Empty, Failed, Screen, Status } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';

type Tenant = AdminRead<'/v1/tenants'>[number];

const COLUMNS: readonly Column<Tenant>[] = [
  { id: 'name', header: 'Name', value: ({ name }) => name, cell: ({ name }) => name },
  { id: 'customerId', header: 'Customer ID', cell: ({ customerId }) => <Code>{customerId}</Code> },
  { id: 'created', header: 'Created', cell: ({ created }) => moment(created) },
  { id: 'status', header: 'Status', cell: ({ status }) => <Status of={status} /> },
];
export function Tenants() {
  const fields = useForm('tenant');
  const organisation = useQuery(organisationQuery);
  const several = organisation.data?.multiTenancy;
  const change = useChange({
    run: () => answer(admin.PATCH('/v1/organisation', { body: { multiTenancy: several !== true } })),
    done: 'Saved.',
  });
  return (
    <Screen
      title="Tenants"
      about={
        several === true
          ? 'Each tenant has its own users and its own configuration.'
          : 'With multi-tenancy, each of your customers has its own users and its own configuration.'
      }
      actions={
        several !== undefined && (
          <ConfirmedButton
            change={change}
            title={several ? 'Disable multi-tenancy?' : 'Enable multi-tenancy?'}
            action={several ? 'Disable' : 'Enable'}
            about={
              several
                ? 'The tenants’ users and configurations are hidden until you enable it again. Those from before multi-tenancy return.'
                : 'The present users and configuration are hidden until you disable it again. Every request must then name a tenant.'
            }
          >
            {several ? 'Disable multi-tenancy' : 'Enable multi-tenancy'}
          </ConfirmedButton>
        )
      }
    >
      {organisation.isError && <Failed error={organisation.error} />}
      {several === false && (
        <Empty title="Multi-tenancy is off" curl={curl('PATCH', '/v1/organisation', { multiTenancy: true })}>
          Enabling it hides the present users and configuration; disabling it brings them back unchanged. This command
          does the same as the button:
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
          removal="The tenant is archived. Its data can no longer be read or changed."
          empty={
            <Empty title="No tenants yet" curl={curl('POST', '/v1/tenants', [{ customerId: 'north', name: 'North' }])}>
              Create one for each of your customers, here or with:
            </Empty>
          }
        />
      )}
    </Screen>
  );
}
