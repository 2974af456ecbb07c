import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { curl } from '../api/bodies.ts';
import { GUARD_NAMES, GUARDS } from '../api/guards.ts';
import { metricFiguresQuery, metricsQuery, type AdminRead, type Metric } from '../api/queries.ts';
import { editsOf, ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { EventSettings } from './event-settings.tsx';
import { Code, Empty, Screen } from '../ui/parts.tsx';
import { Daily, Figure } from '../ui/sparkline.tsx';
import type { Column } from '../ui/table-frame.tsx';

const columnsOf = (figures: Figures | undefined): readonly Column<Metric>[] => [
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
  { id: 'key', folds: true, header: 'Key', value: ({ key }) => key, cell: ({ key }) => <Code>{key}</Code> },
  {
    id: 'unitType',
    folds: true,
    header: 'Unit',
    cell: ({ unitType, units }) => (unitType === 'number' && units !== '' ? units : `${unitType} ${units}`),
  },
  {
    id: 'events',
    header: 'Events, 30 days',
    align: 'right',
    value: ({ id }) => figures?.get(id)?.events ?? 0,
    cell: ({ id }) => <Figure of={figures?.get(id)?.events} />,
  },
  {
    id: 'days',
    header: 'By day',
    cell: ({ id, name }) => <Daily label={`Events of ${name} by day`} values={figures?.get(id)?.days} />,
  },
  {
    id: 'guards',
    header: 'Guards',
    cell: ({ guards = {} }) => GUARD_NAMES.flatMap((name) => (guards[name] ? [GUARDS[name]] : [])).join(', '),
  },
];
type Figures = ReadonlyMap<string, AdminRead<'/v1/analytics/metrics'>['metrics'][number]>;

export function Metrics() {
  const figures = useQuery(metricFiguresQuery).data;
  const columns = useMemo(() => columnsOf(figures && new Map(figures.metrics.map((one) => [one.id, one]))), [figures]);
  return (
    <Screen
      title="Metrics"
      about="What you count. Each event names a metric and a value, which Laurel adds to the user’s total."
    >
      <ResourceList
        noun="metric"
        nameOf={({ name }) => name}
        query={metricsQuery}
        columns={columns}
        analysis={({ id }) => ({ view: 'metrics', id })}
        fields={useForm('metric')}
        {...editsOf('/v1/metrics')}
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
}
