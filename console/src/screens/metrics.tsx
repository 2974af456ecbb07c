import { curl } from '../api/bodies.ts';
import { admin } from '../api/client.ts';
import { GUARD_NAMES, GUARDS } from '../api/guards.ts';
import { metricsQuery, type Metric } from '../api/queries.ts';
import { ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { EventSettings } from './event-settings.tsx';
import { Code, Empty, Screen } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';

const COLUMNS: readonly Column<Metric>[] = [
  {
    id: 'name',
    header: 'Name',
    value: ({ name }) => name,
    cell: ({ name, description }) => (
      <>
        {name}
        {description && <span className="block text-xs text-muted">{description}</span>}
      </>
    ),
    wraps: true,
  },
  { id: 'key', header: 'Key', value: ({ key }) => key, cell: ({ key }) => <Code>{key}</Code> },
  { id: 'unitType', header: 'Unit', cell: ({ unitType, units }) => `${unitType} ${units}`, spare: true },
  {
    id: 'guards',
    header: 'Guards',
    spare: true,
    cell: ({ guards = {} }) => GUARD_NAMES.flatMap((name) => (guards[name] ? [GUARDS[name]] : [])).join(', '),
  },
];
export const Metrics = () => (
  <Screen
    title="Metrics"
    about="What users do. An event names one metric and a value, which is added to the user’s total."
  >
    <ResourceList
      noun="metric"
      nameOf={({ name }) => name}
      query={metricsQuery}
      columns={COLUMNS}
      fields={useForm('metric')}
      create={(item) => admin.POST('/v1/metrics', { body: [item] })}
      update={(item) => admin.PATCH('/v1/metrics', { body: [item] })}
      remove={(id) => admin.DELETE('/v1/metrics', { params: { query: { ids: [id] } } })}
      removal="Events of it are refused from then on. Totals and history stay."
      empty={
        <Empty title="No metric yet" curl={curl('POST', '/v1/metrics', [{ key: 'flips', name: 'Cards flipped' }])}>
          Create the first one here, or:
        </Empty>
      }
    />
    <EventSettings />
  </Screen>
);
