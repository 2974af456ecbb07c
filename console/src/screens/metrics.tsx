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
  {
    id: 'unitType',
    header: 'Unit',
    cell: ({ unitType, units }) => (unitType === 'number' && units !== '' ? units : `${unitType} ${units}`),
  },
  {
    id: 'guards',
    header: 'Guards',
    cell: ({ guards = {} }) => GUARD_NAMES.flatMap((name) => (guards[name] ? [GUARDS[name]] : [])).join(', '),
  },
];
export const Metrics = () => (
  <Screen
    title="Metrics"
    about="What you count. Each event names a metric and a value, which Laurel adds to the user’s total."
  >
    <ResourceList
      noun="metric"
      nameOf={({ name }) => name}
      query={metricsQuery}
      columns={COLUMNS}
      analysis={({ id }) => ({ view: 'metrics', id })}
      fields={useForm('metric')}
      create={(item) => admin.POST('/v1/metrics', { params: { query: { strict: true } }, body: [item] })}
      update={(item) => admin.PATCH('/v1/metrics', { body: [item] })}
      remove={(id) => admin.DELETE('/v1/metrics', { params: { query: { ids: [id] } } })}
      removal="Its events are refused from now on. Totals and history stay."
      empty={
        <Empty title="No metrics yet" curl={curl('POST', '/v1/metrics', [{ key: 'flips', name: 'Cards flipped' }])}>
          A metric is something that your users do, such as cards flipped or minutes read. Create one here, or with:
        </Empty>
      }
    />
    <EventSettings />
  </Screen>
);
