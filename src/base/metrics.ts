// The metrics of one process: a prom-client registry of its own (several processes may live in one test), and the series that
// the Kubernetes runtime feeds. Names are upstream's, so that existing dashboards and alerts keep working.
// Other rooms declare theirs through counter(), gauge() and histogram(); asking twice for a name gives the same metric.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What a work queue reports about itself. */
export interface QueueMetrics {
  added(): void;
  depth(size: number): void;
  started(waitedSeconds: number): void;
  finished(workedSeconds: number): void;
  retried(): void;
}

export interface RestSample {
  readonly verb: string;
  readonly method: string;
  readonly host: string;
  readonly resource: string;
  /** Path with names replaced by placeholders. */
  readonly url: string;
  /** HTTP status, or '<error>' when no answer came. */
  readonly code: string;
  readonly seconds: number;
}

type Labels = readonly string[];

const DECADES = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10];
const LATENCIES = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

export class Metrics {
  readonly registry = new Registry();
  readonly #running = new Map<string, () => readonly number[]>();

  counter<L extends string>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> {
    const known = this.registry.getSingleMetric(name) as Counter<L> | undefined;
    return known ?? new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  gauge<L extends string>(name: string, help: string, labelNames: readonly L[] = [], collect?: (gauge: Gauge<L>) => void): Gauge<L> {
    const known = this.registry.getSingleMetric(name) as Gauge<L> | undefined;
    if (known) return known;
    const gauge: Gauge<L> = new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
      ...(collect ? { collect: () => collect(gauge) } : {}),
    });
    return gauge;
  }

  histogram<L extends string>(name: string, help: string, buckets: readonly number[], labelNames: readonly L[] = []): Histogram<L> {
    const known = this.registry.getSingleMetric(name) as Histogram<L> | undefined;
    return known ?? new Histogram({ name, help, labelNames: [...labelNames], buckets: [...buckets], registers: [this.registry] });
  }

  /** Memory, CPU and event-loop delay of this process; once, by main. */
  collectProcessMetrics(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  /** `running` tells for how many seconds each unfinished item is being worked on. Every series exists from now on, at zero. */
  queue(name: string, running: () => readonly number[]): QueueMetrics {
    this.#running.set(name, running);
    const by: Labels = ['name'];
    const adds = this.counter('kubevirt_workqueue_adds_total', 'Keys put into the work queue', by);
    const retries = this.counter('kubevirt_workqueue_retries_total', 'Keys put back after a failure', by);
    const depth = this.gauge('kubevirt_workqueue_depth', 'Keys waiting in the work queue', by);
    const waited = this.histogram('kubevirt_workqueue_queue_duration_seconds', 'Time a key waits before it is worked on', DECADES, by);
    const worked = this.histogram('kubevirt_workqueue_work_duration_seconds', 'Time the work on a key takes', DECADES, by);
    this.#runningGauge('kubevirt_workqueue_unfinished_work_seconds', 'Work in progress, summed over the workers', (all) =>
      all.reduce((sum, one) => sum + one, 0),
    );
    this.#runningGauge('kubevirt_workqueue_longest_running_processor_seconds', 'Age of the longest running work', (all) =>
      Math.max(0, ...all),
    );
    adds.inc({ name }, 0);
    retries.inc({ name }, 0);
    depth.set({ name }, 0);
    return {
      added: () => adds.inc({ name }),
      depth: (size) => depth.set({ name }, size),
      started: (seconds) => waited.observe({ name }, seconds),
      finished: (seconds) => worked.observe({ name }, seconds),
      retried: () => retries.inc({ name }),
    };
  }

  #runningGauge(metric: string, help: string, fold: (seconds: readonly number[]) => number): void {
    this.gauge(metric, help, ['name'], (gauge) => {
      for (const [name, running] of this.#running) gauge.set({ name }, fold(running()));
    });
  }

  restRequest(sample: RestSample): void {
    const { verb, method, host, resource, url, code, seconds } = sample;
    this.counter('kubevirt_rest_client_requests_total', 'Requests to the API server', ['code', 'method', 'host', 'resource', 'verb']).inc({
      code,
      method,
      host,
      resource,
      verb,
    });
    this.histogram('kubevirt_rest_client_request_latency_seconds', 'Time until the API server answered', LATENCIES, [
      'verb',
      'url',
    ]).observe({ verb, url }, seconds);
  }

  restThrottled(verb: string, url: string, seconds: number): void {
    this.histogram('kubevirt_rest_client_rate_limiter_duration_seconds', 'Time a request waited for its turn on our side', LATENCIES, [
      'verb',
      'url',
    ]).observe({ verb, url }, seconds);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** The text of /metrics. */
  text(): Promise<string> {
    return this.registry.metrics();
  }
}
