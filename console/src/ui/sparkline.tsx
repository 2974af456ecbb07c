import { number } from './format.ts';

const WIDTH = 96;
const HEIGHT = 20;

/** Bars of some values in a line of text, the latest on the right. `label`: what they are. */
function Sparkline({ label, values }: { label: string; values: readonly number[] }) {
  const most = Math.max(1, ...values);
  const step = WIDTH / Math.max(1, values.length);
  const last = values.at(-1) ?? 0;
  return (
    <svg
      role="img"
      aria-label={`${label}: highest ${number(Math.max(0, ...values))}, latest ${number(last)}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      className="inline-block align-middle"
    >
      <line x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} className="stroke-line" />
      {values.map((value, at) => {
        const height = value <= 0 ? 0 : Math.max(1, (value / most) * (HEIGHT - 1));
        return (
          <rect
            // oxlint-disable-next-line react/no-array-index-key -- a value is known by its place
            key={at}
            x={at * step}
            y={HEIGHT - 1 - height}
            width={Math.max(1, step - 1)}
            height={height}
            className="fill-accent"
          />
        );
      })}
    </svg>
  );
}

/** A figure of a list, or a dash until it is read and where there is none. */
export const Figure = ({ of }: { of: number | undefined }) => (of === undefined ? '–' : number(of));

/** A sparkline of a list, or a dash likewise. */
export const Daily = ({ label, values }: { label: string; values: readonly number[] | undefined }) =>
  values === undefined ? '–' : <Sparkline label={label} values={values} />;
