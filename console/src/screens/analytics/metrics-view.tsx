import { useQuery } from '@tanstack/react-query';
import { EditLink } from '../../resource/edit-link.tsx';
import { counted, number } from '../../ui/format.ts';
import { useAsked, useShown } from './controls.tsx';
import { Distribution, FigureTable, Figures, Read, Saved, TimeChart } from './parts.tsx';
import { metricQuery, metricsQuery, type AnalyticsMetric } from './queries.ts';
import { Back, Chosen } from './resource-link.tsx';

export function MetricsView() {
  const { id } = useShown();
  return id === undefined ? <AllMetrics /> : <OneMetric id={id} />;
}

function AllMetrics() {
  const metrics = useQuery(metricsQuery(useAsked().query));
  return (
    <Read query={metrics}>
      {({ metrics: all, from, to }) => (
        <Saved
          title="Metrics"
          file={`metrics-${from}-${to}`}
          rows={all.map(({ days: _days, ...metric }) => metric)}
          note="Reversed events do not count."
        >
          <FigureTable
            label="Metrics"
            head={['Metric', 'Events', 'Events before', 'Value', 'Value before']}
            rows={all.map((metric) => ({
              key: metric.id,
              cells: [
                <Chosen key="name" id={metric.id} name={metric.name} />,
                ...[metric.events, metric.eventsBefore, metric.value, metric.valueBefore].map(number),
              ],
            }))}
          />
        </Saved>
      )}
    </Read>
  );
}

const sizeName = ({ from, to }: AnalyticsMetric['sizes'][number]): string =>
  from === to ? number(from) : `${number(from)} to ${number(to)}`;

function OneMetric({ id }: { id: string }) {
  const metric = useQuery(metricQuery(id, useAsked().query));
  return (
    <Read query={metric}>
      {({ name, key, from, to, units, days, weeks, sizes, attributes, ...all }) => {
        const file = `${key}-${from}-${to}`;
        return (
          <>
            <Back to="Metrics" name={name}>
              <EditLink to="/metrics" id={id} />
            </Back>
            <Figures
              of={[
                { name: 'Events', now: all.events, before: all.eventsBefore },
                { name: units === '' ? 'Value' : `Value, ${units}`, now: all.value, before: all.valueBefore },
              ]}
            />
            <TimeChart
              title="Value per day"
              file={`${file}-value`}
              of="value"
              before="valueBefore"
              rows={days}
              note="By the users’ local days. The dashed line is the previous period."
            />
            <div className="grid gap-4 md:grid-cols-2">
              <TimeChart title="Events per day" file={`${file}-events`} of="events" before="eventsBefore" rows={days} />
              <TimeChart
                title="Value per active user and week"
                file={`${file}-per-user`}
                of="perUser"
                rows={weeks}
                unit="week"
                note="Active users are those with any event in the week."
              />
              <Saved
                title="Events by value"
                file={`${file}-sizes`}
                rows={sizes}
                note="Of all users. The upper bound belongs to the next range."
              >
                <Distribution rows={sizes.map((size) => ({ name: sizeName(size), count: size.events }))} />
              </Saved>
              <Saved
                title="Top attributes"
                file={`${file}-attributes`}
                rows={attributes}
                note={`From the newest ${counted(all.attributeEvents, 'event')} of this metric, reversals included.`}
              >
                <Distribution
                  rows={attributes.map(({ key: of, value, events }) => ({ name: `${of}: ${value}`, count: events }))}
                />
              </Saved>
            </div>
          </>
        );
      }}
    </Read>
  );
}
