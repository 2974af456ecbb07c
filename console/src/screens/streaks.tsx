import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { answer } from '../api/answer.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { metricsQuery, type AdminRead } from '../api/queries.ts';
import { Labelled, SelectInput, TextInput } from '../ui/fields.tsx';
import { Form } from '../ui/form.tsx';
import { Failed, Panel, Screen, Waiting } from '../ui/parts.tsx';

type Settings = AdminRead<'/v1/streaks/settings'>;

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

export function Streaks() {
  const settings = useQuery({
    queryKey: ['streak-settings'],
    queryFn: () => answer(admin.GET('/v1/streaks/settings')),
  });
  return (
    <Screen title="Streaks" about="A streak counts the days, weeks or months in a row in which a user was active.">
      {settings.isPending && <Waiting />}
      {settings.isError && <Failed error={settings.error} />}
      {settings.data && <StreakForm key={JSON.stringify(settings.data)} settings={settings.data} />}
    </Screen>
  );
}

const Row = ({ children }: { children: ReactNode }) => <div className="grid gap-3 sm:grid-cols-2">{children}</div>;

function StreakForm({ settings }: { settings: Settings }) {
  const metrics = useQuery(metricsQuery).data ?? [];
  const [values, setValues] = useState(settings);
  const set = (part: Partial<Settings>): void => setValues({ ...values, ...part });
  const { enabled, frequency, weekStart, evaluationMode, personalization, daysOff, freezes } = values;
  const threshold = (metricId: string) => values.metrics.find((metric) => metric.metricId === metricId)?.threshold;
  const save = useChange({
    run: () =>
      answer(
        admin.PATCH('/v1/streaks/settings', {
          body: {
            enabled,
            frequency,
            weekStart,
            evaluationMode,
            personalization,
            ...(frequency === 'daily' && { daysOff }),
            metrics: values.metrics.map(({ metricId, threshold: least }) => ({ metricId, threshold: least })),
            freezes: freezes && {
              enabled: freezes.enabled,
              initial: freezes.initial,
              max: freezes.max,
              autoEarnInterval: freezes.autoEarnInterval,
              autoEarnAmount: freezes.autoEarnAmount,
            },
          },
        }),
      ),
    done: 'Saved.',
    quiet: true,
  });
  const setMetric = (metricId: string, least: string, key: string): void => {
    const others = values.metrics.filter((metric) => metric.metricId !== metricId);
    set({ metrics: least === '' ? others : [...others, { key, metricId, threshold: Number(least) }] });
  };
  const freeze = (part: Partial<NonNullable<Settings['freezes']>>): void => {
    const before = freezes ?? {
      enabled: true,
      initial: 0,
      max: 1,
      startCount: 0,
      maxCount: 1,
      autoEarnInterval: null,
      autoEarnAmount: null,
    };
    set({ freezes: { ...before, ...part } });
  };
  const whole = (label: string, name: 'initial' | 'max' | 'autoEarnInterval' | 'autoEarnAmount') => (
    <Labelled label={label}>
      <TextInput
        type="number"
        min={0}
        value={freezes?.[name] ?? ''}
        onChange={({ target }) => freeze({ [name]: target.value === '' ? null : Number(target.value) })}
      />
    </Labelled>
  );
  return (
    <div className="max-w-3xl">
      <Form
        change={save}
        submit="Save"
        isDirty={JSON.stringify(values) !== JSON.stringify(settings)}
        onSubmit={() => save.mutate()}
      >
        <Panel title="Rule">
          <div className="flex flex-col gap-3">
            <label className="flex items-center gap-2">
              <input type="checkbox" checked={enabled} onChange={({ target }) => set({ enabled: target.checked })} />
              <span className="font-medium">Count streaks</span>
            </label>
            <Row>
              <Labelled label="Period">
                <SelectInput
                  value={frequency}
                  onChange={({ target }) => set({ frequency: target.value as Settings['frequency'] })}
                >
                  <option value="daily">Day</option>
                  <option value="weekly">Week</option>
                  <option value="monthly">Month</option>
                </SelectInput>
              </Labelled>
              <Labelled label="Weeks begin on">
                <SelectInput
                  value={weekStart}
                  onChange={({ target }) => set({ weekStart: target.value as Settings['weekStart'] })}
                >
                  <option value="monday">Monday</option>
                  <option value="sunday">Sunday</option>
                </SelectInput>
              </Labelled>
              <Labelled label="A period needs">
                <SelectInput
                  value={evaluationMode}
                  onChange={({ target }) => set({ evaluationMode: target.value as Settings['evaluationMode'] })}
                >
                  <option value="OR">one of the metrics below</option>
                  <option value="AND">all of the metrics below</option>
                </SelectInput>
              </Labelled>
            </Row>
            {frequency === 'daily' && (
              <fieldset>
                <legend className="mb-1 font-medium">Days off</legend>
                <div className="flex flex-wrap gap-x-4 gap-y-1">
                  {WEEKDAYS.map((name, day) => (
                    <label key={name} className="flex items-center gap-1.5">
                      <input
                        type="checkbox"
                        checked={daysOff.includes(day)}
                        onChange={({ target }) =>
                          set({
                            daysOff: target.checked ? [...daysOff, day] : daysOff.filter((other) => other !== day),
                          })
                        }
                      />
                      {name}
                    </label>
                  ))}
                </div>
              </fieldset>
            )}
            <label className="flex items-center gap-2">
              <input
                type="checkbox"
                checked={personalization}
                onChange={({ target }) => set({ personalization: target.checked })}
              />
              <span className="font-medium">Users may have their own rules</span>
            </label>
          </div>
        </Panel>
        <Panel title="Metrics that count">
          {metrics.length === 0 && <p className="text-muted">No metrics yet. Create a metric first.</p>}
          {metrics.length > 0 && (
            <p className="mb-3 text-muted">
              {values.metrics.length === 0
                ? 'No metric has a threshold: any event with a positive value extends the streak, whatever its metric.'
                : 'Only metrics with a threshold count. A period needs at least this total of the metric.'}
            </p>
          )}
          <Row>
            {metrics.map(({ id, key, name }) => (
              <Labelled key={id} label={name}>
                <TextInput
                  type="number"
                  step="any"
                  placeholder={values.metrics.length === 0 ? 'any event counts' : 'does not count'}
                  value={threshold(id) ?? ''}
                  onChange={({ target }) => setMetric(id, target.value, key)}
                />
              </Labelled>
            ))}
          </Row>
        </Panel>
        <Panel title="Freezes">
          <div className="flex flex-col gap-3">
            <label className="flex items-center gap-2">
              <input
                type="checkbox"
                checked={freezes?.enabled ?? false}
                onChange={({ target }) => freeze({ enabled: target.checked })}
              />
              <span className="font-medium">Freezes protect the streak of a user who misses a period</span>
            </label>
            {freezes?.enabled === true && (
              <Row>
                {whole('Freezes of a new user', 'initial')}
                {whole('Most freezes of a user', 'max')}
                {whole('Periods until freezes are earned', 'autoEarnInterval')}
                {whole('Freezes earned each time', 'autoEarnAmount')}
              </Row>
            )}
          </div>
        </Panel>
      </Form>
    </div>
  );
}
