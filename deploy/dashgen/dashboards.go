package main

// dashboards are Millwright's. What every replica serves is taken once, by max; what only
// the one that decides counts is summed.
var dashboards = []dashboard{
	{"fleet", "Millwright: fleet and cost", []section{
		{"Now", []panel{
			{"Price", "$/h of all machines, as far as prices are known", "stat", "currencyUSD", []query{
				{`sum(max by (nodepool) (karpenter_nodepools_cost_total{nodepool=~"$nodepool"}))`, ""}}},
			{"Machines", "", "stat", "short", []query{
				{`sum(max by (nodepool) (karpenter_nodepools_usage{resource_type="nodes", nodepool=~"$nodepool"}))`, ""}}},
			{"CPU requested", "share of what machines of all kinds offer", "stat", "percent", []query{
				{`max(karpenter_cluster_utilization_percent{resource_type="cpu"})`, ""}}},
			{"Memory requested", "share of what machines of all kinds offer", "stat", "percent", []query{
				{`max(karpenter_cluster_utilization_percent{resource_type="memory"})`, ""}}},
		}},
		{"Over time", []panel{
			{"Price by pool", "$/h", "timeseries", "currencyUSD", []query{
				{`max by (nodepool) (karpenter_nodepools_cost_total{nodepool=~"$nodepool"})`, "{{nodepool}}"}}},
			{"Machines by pool", "", "timeseries", "short", []query{
				{`max by (nodepool) (karpenter_nodepools_usage{resource_type="nodes", nodepool=~"$nodepool"})`, "{{nodepool}}"}}},
			{"Launched and removed", "machines that became Nodes, and Nodes that went", "timeseries", "short", []query{
				{`sum by (nodepool) (increase(karpenter_nodes_created_total{nodepool=~"$nodepool"}[$__rate_interval]))`, "{{nodepool}} launched"},
				{`-sum by (nodepool) (increase(karpenter_nodes_terminated_total{nodepool=~"$nodepool"}[$__rate_interval]))`, "{{nodepool}} removed"}}},
			{"Requested share", "of what machines of all kinds offer", "timeseries", "percent", []query{
				{`max by (resource_type) (karpenter_cluster_utilization_percent)`, "{{resource_type}}"}}},
			{"Limits used", "1 is the pool's limit", "timeseries", "percentunit", []query{
				{`max by (nodepool, resource_type) (karpenter_nodepools_usage{nodepool=~"$nodepool"}) / on (nodepool, resource_type) max by (nodepool, resource_type) (karpenter_nodepools_limit)`, "{{nodepool}} {{resource_type}}"}}},
			{"Instance types", "the ten that most machines are of", "timeseries", "short", []query{
				{`topk(10, count by (instance_type) (max by (node_name, instance_type) (karpenter_nodes_current_lifetime_seconds{managed="true", nodepool=~"$nodepool"})))`, "{{instance_type}}"}}},
			{"Zones and capacity types", "machines", "timeseries", "short", []query{
				{`count by (zone, capacity_type) (max by (node_name, zone, capacity_type) (karpenter_nodes_current_lifetime_seconds{managed="true", nodepool=~"$nodepool"}))`, "{{zone}} {{capacity_type}}"}}},
			{"CPU offered and requested", "cores of the machines of the chosen pools", "timeseries", "short", []query{
				{`sum(max by (node_name) (karpenter_nodes_allocatable{resource_type="cpu", managed="true", nodepool=~"$nodepool"}))`, "offered"},
				{`sum(max by (node_name) (karpenter_nodes_total_pod_requests{resource_type="cpu", managed="true", nodepool=~"$nodepool"}))`, "requested"}}},
			{"Age of machines that went", "median", "timeseries", "s", []query{
				{`histogram_quantile(0.5, sum by (le, nodepool) (rate(karpenter_nodes_lifetime_duration_seconds_bucket{nodepool=~"$nodepool"}[$__rate_interval])))`, "{{nodepool}}"}}},
		}},
	}},
	{"decisions", "Millwright: decisions and what blocks them", []section{
		{"Pods that wait", []panel{
			{"No machine would help", "pods; their events and millwright why pod NAME say why", "timeseries", "short", []query{
				{`max(karpenter_scheduler_unschedulable_pods_count)`, "no machine"},
				{`max(karpenter_scheduler_ignored_pods_count)`, "not understood"}}},
			{"Longest wait for a node", "of the pods that wait now", "timeseries", "s", []query{
				{`max(karpenter_pods_unbound_time_seconds)`, "longest"}}},
			{"From creation to a node", "all pods that have been bound", "timeseries", "s", []query{
				{`histogram_quantile(0.5, sum by (le) (rate(karpenter_pods_bound_duration_seconds_bucket[$__rate_interval])))`, "median"},
				{`histogram_quantile(0.99, sum by (le) (rate(karpenter_pods_bound_duration_seconds_bucket[$__rate_interval])))`, "99 %"}}},
			{"Time to plan a batch", "99 %", "timeseries", "s", []query{
				{`histogram_quantile(0.99, sum by (le) (rate(karpenter_scheduler_scheduling_duration_seconds_bucket[$__rate_interval])))`, "99 %"}}},
			{"Machines asked for", "NodeClaims by reason", "timeseries", "short", []query{
				{`sum by (reason) (increase(karpenter_nodeclaims_created_total{nodepool=~"$nodepool"}[$__rate_interval]))`, "{{reason}}"}}},
		}},
		{"Machines that stay or go", []panel{
			{"Why machines stay, or go", "the one reason for each", "timeseries", "short", []query{
				{`sum by (reason) (max by (nodepool, reason) (millwright_disruption_verdicts{nodepool=~"$nodepool"}))`, "{{reason}}"}}},
			{"Budgets", "machines that may be disrupted now", "timeseries", "short", []query{
				{`max by (nodepool, reason) (karpenter_nodepools_allowed_disruptions{nodepool=~"$nodepool"})`, "{{nodepool}} {{reason}}"}}},
			{"Could be disrupted", "budgets aside", "timeseries", "short", []query{
				{`max by (reason) (karpenter_voluntary_disruption_eligible_nodes)`, "{{reason}}"}}},
			{"Begun", "disruptions, replacements included", "timeseries", "short", []query{
				{`sum by (decision, reason) (increase(karpenter_voluntary_disruption_decisions_by_nodepool_total{nodepool=~"$nodepool"}[$__rate_interval]))`, "{{decision}} {{reason}}"}}},
			{"Called off and failed", "the cluster changed in between, or a replacement did not come", "timeseries", "short", []query{
				{`sum by (consolidation_type) (increase(karpenter_voluntary_disruption_failed_validations_total[$__rate_interval]))`, "called off {{consolidation_type}}"},
				{`sum by (decision, reason) (increase(karpenter_voluntary_disruption_queue_failures_total[$__rate_interval]))`, "failed {{decision}} {{reason}}"}}},
			{"Removed", "NodeClaims by reason", "timeseries", "short", []query{
				{`sum by (reason) (increase(karpenter_nodeclaims_disrupted_total{nodepool=~"$nodepool"}[$__rate_interval]))`, "{{reason}}"}}},
			{"Evictions", "answers of the API server; 429 is a PodDisruptionBudget", "timeseries", "short", []query{
				{`sum by (code) (increase(karpenter_pods_eviction_requests_total[$__rate_interval]))`, "{{code}}"}}},
			{"Longest drain", "machines that are going now", "timeseries", "s", []query{
				{`max(operator_nodeclaim_termination_current_time_seconds{karpenter_sh_nodepool=~"$nodepool"})`, "longest"}}},
		}},
	}},
	{"health", "Millwright: health", []section{
		{"Machines", []panel{
			{"On their way", "launched and not ready for pods", "timeseries", "short", []query{
				{`count by (reason) (max by (name, reason) (operator_nodeclaim_status_condition_count{type="Initialized", status!="True"}))`, "{{reason}}"}}},
			{"Unhealthy", "by what is done about it", "timeseries", "short", []query{
				{`sum by (condition, reason) (max by (nodepool, condition, reason) (millwright_unhealthy_nodes))`, "{{condition}} {{reason}}"}}},
			{"Volume attachments", "left over, or not what they should be", "timeseries", "short", []query{
				{`max by (reason, driver) (millwright_volume_attachment_faults)`, "{{driver}} {{reason}}"}}},
		}},
		{"The cloud", []panel{
			{"Failed calls", "per second", "timeseries", "reqps", []query{
				{`sum by (method, error) (rate(karpenter_cloudprovider_errors_total[$__rate_interval]))`, "{{method}} {{error}}"}}},
			{"Time of calls", "99 %", "timeseries", "s", []query{
				{`histogram_quantile(0.99, sum by (le, method) (rate(karpenter_cloudprovider_duration_seconds_bucket[$__rate_interval])))`, "{{method}}"}}},
			{"Announcements on record", "", "timeseries", "short", []query{
				{`max by (kind, state) (millwright_interruption_events)`, "{{kind}} {{state}}"}}},
			{"Age of the queue", "of the oldest message in the latest batch", "timeseries", "s", []query{
				{`max(millwright_interruption_queue_age_seconds)`, "age"}}},
			{"Messages of the queue", "by what became of them", "timeseries", "short", []query{
				{`sum by (outcome, reason) (increase(millwright_interruption_messages_total[$__rate_interval]))`, "{{outcome}} {{reason}}"}}},
			{"Feed errors", "per second", "timeseries", "short", []query{
				{`sum by (operation) (rate(millwright_interruption_feed_errors_total[$__rate_interval]))`, "{{operation}}"}}},
		}},
		{"The process", []panel{
			{"Writes refused", "by the API server; Forbidden is a right that is missing", "timeseries", "short", []query{
				{`sum by (verb, kind, reason) (increase(millwright_writes_refused_total[$__rate_interval]))`, "{{verb}} {{kind}} {{reason}}"}}},
			{"Rights missing", "refused by RBAC within ten minutes", "timeseries", "short", []query{
				{`max by (verb, resource, group) (millwright_rights_missing)`, "{{verb}} {{resource}} {{group}}"}}},
			{"Replicas", "that run, and that hold the lease", "timeseries", "short", []query{
				{`count(karpenter_build_info)`, "running"},
				{`sum(leader_election_master_status)`, "leading"}}},
			{"State is complete", "1 where everything that the API server has is known", "timeseries", "short", []query{
				{`min(karpenter_cluster_state_synced)`, "synced"}}},
			{"Requests to the API server", "per second", "timeseries", "reqps", []query{
				{`sum by (code, method) (rate(rest_client_requests_total[$__rate_interval]))`, "{{method}} {{code}}"}}},
			{"Errors of loops", "per second", "timeseries", "short", []query{
				{`sum by (controller) (rate(controller_runtime_reconcile_errors_total[$__rate_interval]))`, "{{controller}}"}}},
			{"Memory", "resident", "timeseries", "bytes", []query{
				{`max(process_resident_memory_bytes{job=~".*millwright.*|.*karpenter.*|"})`, "largest replica"}}},
			{"CPU", "cores", "timeseries", "short", []query{
				{`max(rate(process_cpu_seconds_total{job=~".*millwright.*|.*karpenter.*|"}[$__rate_interval]))`, "busiest replica"}}},
		}},
	}},
}
